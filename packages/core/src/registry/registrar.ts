import {
  anyText,
  checkFields,
  checkOptions,
  type OptionRules,
  textList,
  trueOrFalse,
} from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import type { Emit, SyncReport } from '../events.ts'
import { canonicalJson, isRecord } from '../json.ts'
import { checkName, mcpName, servedName, sourceKey } from '../names.ts'
import { checkSchema } from '../schema/check-schema.ts'
import { type Slices, sharedSlices } from '../slices.ts'
import { TOOL_FIELD_RULES, type Tool, type ToolSource } from '../tool.ts'
import type { Catalogue } from './catalogue.ts'
import { type Deferral, Entry, measureDefinition } from './entry.ts'
import { PermittingNames } from './name-patterns.ts'

/** Options for registering one tool. */
export interface RegisterOptions {
  /** The plugin it belongs to; without it, the tool is built in. */
  readonly pluginId?: string
  /** Overrides the tool's own `deferred`. */
  readonly deferred?: boolean
  /** Overrides the tool's own `searchHint`. */
  readonly searchHint?: string
  /**
   * Shown from the start, in every mode. With `deferred: true`, the tool is a deferred one that is shown from the start in
   * every session opened from then on, as after `registry.preload()`.
   */
  readonly preload?: boolean
  /** Replaces a tool with that name; plugins and MCP servers cannot replace a built-in tool. */
  readonly replace?: boolean
}

/** Options for registering a server's tools. */
export interface SyncOptions {
  /** false pins all its tools. */
  readonly lazy?: boolean
  /** Tools to pin, by the server's own names or the registered ones. */
  readonly pinned?: readonly string[]
  /**
   * A trusted server may pin its own tools (`_meta` alwaysLoad), ranks before others at equal scores, and its
   * descriptions and results are not marked as untrusted.
   */
  readonly trust?: boolean
  /** The server was approved, for example in a lockfile: its tools are not limited to a share of the top results. */
  readonly approved?: boolean
}

/** Changes the catalogue, and emits an event for each change. */
export class Registrar {
  readonly #catalogue: Catalogue
  readonly #emit: Emit
  readonly #slices: Slices
  readonly #prepared = new WeakMap<object, PreparedEntry>()

  constructor(catalogue: Catalogue, emit: Emit, slices: Slices = sharedSlices) {
    this.#catalogue = catalogue
    this.#emit = emit
    this.#slices = slices
  }

  register(tool: Tool, options: RegisterOptions): void {
    checkOptions<RegisterOptions>('register()', options, REGISTER_RULES)
    this.#add(localEntry(tool, options), options.replace === true)
  }

  /** Registers a function as a tool, which is preloaded while there are few tools unless `preload` decides. */
  registerFunction(tool: Tool, preload: boolean | undefined): void {
    const entry = preload === undefined ? localEntry(tool, {}, 'while-few') : localEntry(tool, { preload })
    this.#add(entry, false)
  }

  registerAll(tools: readonly Tool[]): void {
    requireList(tools, 'registerAll')
    const entries = tools.map((tool) => localEntry(tool, {}))
    this.#catalogue.addAll(entries)
    for (const { name, source } of entries) this.#emit({ type: 'tool-registered', name, source })
  }

  registerMcp(tool: Tool, server: string): void {
    checkName(server, 'server name')
    const prefix = mcpName('', server)
    const isPrefixed =
      typeof tool?.name === 'string' && tool.name.length > prefix.length && tool.name.startsWith(prefix)
    const known = isPrefixed ? { ownName: tool.name.slice(prefix.length) } : {}
    this.#add(mcpEntry(tool, server, {}, known), false)
  }

  syncOpenApi(api: string, operations: readonly Tool[]): SyncReport {
    requireList(operations, 'syncOpenApi')
    checkName(api, 'API name')
    const source: ToolSource = Object.freeze({ kind: 'openapi', api })
    const { entries, skipped } = collect(operations, (tool) => servedEntry(tool, source, { approved: true }))
    const swapped = this.#catalogue.replaceSource(sourceKey(source), entries)
    const report = { ...swapped, skipped: [...skipped, ...swapped.skipped] }
    for (const name of report.added) this.#emit({ type: 'tool-registered', name, source })
    for (const name of report.removed) this.#emit({ type: 'tool-unregistered', name, source })
    return report
  }

  async prepareMcp(server: string, tools: readonly Tool[], options: SyncOptions): Promise<void> {
    const build = this.#entryBuilder(server, options)
    await this.#slices.each(tools, (tool) => {
      try {
        const prepared = build(tool)
        measureDefinition(prepared.entry.definition)
        this.#prepared.set(tool, prepared)
      } catch {
        // Reported when it is synced.
      }
    })
  }

  syncMcp(server: string, tools: readonly Tool[], options: SyncOptions): SyncReport {
    requireList(tools, 'syncMcp')
    checkOptions<SyncOptions>('syncMcp()', options, SYNC_RULES)
    const { entries, skipped } = this.#mcpEntries(tools, server, options)
    const swapped = this.#catalogue.replaceSource(sourceKey({ kind: 'mcp', server }), entries)
    const report = { ...swapped, skipped: [...skipped, ...swapped.skipped] }
    for (const skip of report.skipped) this.#emit({ type: 'tool-skipped', server, ...skip })
    this.#emit({ type: 'server-synced', server, ...report })
    return report
  }

  unregister(name: string): boolean {
    const entry = this.#catalogue.remove(name)
    if (entry) this.#emit({ type: 'tool-unregistered', name, source: entry.source })
    return entry !== undefined
  }

  unregisterMcp(server: string | undefined): number {
    const removed = this.#catalogue
      .snapshot()
      .sorted.filter(
        ({ source }) => source.kind === 'mcp' && (server === undefined || source.server === server),
      )
    for (const key of new Set(removed.map(({ source }) => sourceKey(source))))
      this.#catalogue.replaceSource(key, [])
    for (const { name, source } of removed) this.#emit({ type: 'tool-unregistered', name, source })
    return removed.length
  }

  quarantine(name: string, reason: string): void {
    this.#catalogue.quarantine(name, reason)
    this.#emit({ type: 'tool-quarantined', name, reason })
  }

  release(name: string): boolean {
    const wasHeld = this.#catalogue.release(name)
    if (wasHeld) this.#emit({ type: 'tool-released', name })
    return wasHeld
  }

  /** Copies the tools of another catalogue, without those of MCP servers. Emits no events. */
  copyLocal(from: Catalogue): void {
    const { sorted, quarantined } = from.snapshot()
    this.#catalogue.addAll(sorted.filter(({ source }) => source.kind !== 'mcp'))
    for (const [name, reason] of quarantined) this.#catalogue.quarantine(name, reason)
  }

  #mcpEntries(tools: readonly Tool[], server: string, options: SyncOptions) {
    checkName(server, 'server name')
    const build = this.#entryBuilder(server, options)
    return collect(tools, (tool) => build(tool).entry)
  }

  /** Makes the entries of a server's tools, or takes those that were prepared in the same way. */
  #entryBuilder(server: string, options: SyncOptions): (tool: Tool) => PreparedEntry {
    const source: ToolSource = Object.freeze({ kind: 'mcp', server })
    const recipe = canonicalJson([server, options])
    return (tool) => {
      const before = this.#catalogue.get(mcpName(tool?.name, server))
      const prepared = isRecord(tool) ? this.#prepared.get(tool) : undefined
      const isFit =
        prepared?.recipe === recipe && (before === prepared.before?.deref() || before === prepared.entry)
      if (isFit) return prepared
      const entry = servedEntry(tool, source, options, { before })
      return { entry, before: before && new WeakRef(before), recipe }
    }
  }

  #add(entry: Entry, replace: boolean): void {
    this.#catalogue.add(entry, { replace })
    this.#emit({ type: 'tool-registered', name: entry.name, source: entry.source })
  }
}

/** The entries of a list; a tool that cannot be registered is left out with the reason. */
function collect(tools: readonly Tool[], build: (tool: Tool) => Entry) {
  const entries: Entry[] = []
  const skipped: { name: string; reason: string }[] = []
  for (const tool of tools) {
    try {
      entries.push(build(tool))
    } catch (error) {
      skipped.push({ name: String(tool?.name ?? '(no name)').slice(0, 200), reason: describeError(error) })
    }
  }
  return { entries, skipped }
}

/** The entry of a tool, made in advance. */
interface PreparedEntry {
  readonly entry: Entry
  /** What it replaces; weak, so that an entry does not keep all that came before it. */
  readonly before: WeakRef<Entry> | undefined
  /** The server and the options that it was made with. */
  readonly recipe: string
}

function requireList(tools: unknown, method: string): void {
  if (Array.isArray(tools)) return
  throw new ToolcribError('config-invalid', `${method}() takes an array of tools`)
}

const REGISTER_RULES: OptionRules<RegisterOptions> = {
  pluginId: anyText,
  deferred: trueOrFalse,
  searchHint: anyText,
  preload: trueOrFalse,
  replace: trueOrFalse,
}

const SYNC_RULES: OptionRules<SyncOptions> = {
  lazy: trueOrFalse,
  pinned: textList,
  trust: trueOrFalse,
  approved: trueOrFalse,
}

// How far a source is trusted: the higher one wins if two tools match equally.
const TRUST = { builtin: 4, plugin: 3, trustedServer: 2, approvedServer: 1, server: 0 } as const

/** The entry of a built-in tool or a plugin's, or a `ToolcribError` if it cannot be registered. */
export function localEntry(
  tool: Tool,
  { pluginId, deferred, searchHint, preload }: RegisterOptions,
  otherwise: Deferral = 'unset',
): Entry {
  checkName(tool?.name, 'tool name')
  checkFields(`the tool "${tool.name}"`, tool, TOOL_FIELD_RULES)
  if (pluginId !== undefined) checkName(pluginId, 'plugin id')
  const source: ToolSource = pluginId ? { kind: 'plugin', plugin: pluginId } : { kind: 'builtin' }
  const entry = new Entry(tool, {
    name: tool.name,
    ownName: tool.name,
    source,
    // One that is both is shown by its name: see `ToolRegistry.preload()`.
    deferral: preload && deferred !== true ? 'pinned' : deferralOf(deferred ?? tool.deferred, otherwise),
    searchHint,
    trust: pluginId === undefined ? TRUST.builtin : TRUST.plugin,
  })
  checkSchema(entry.definition.parameters, tool.name, 'inputSchema')
  if (tool.outputSchema !== undefined) checkSchema(tool.outputSchema, tool.name, 'outputSchema')
  return entry
}

/** What a new entry takes from elsewhere: the server's own name, if the tool has the prefix already, and what it replaces. */
interface KnownParts {
  readonly ownName: string
  readonly before: Entry | undefined
}

/** The entry of a server's tool, named `mcp__<server>__<tool>`. */
export function mcpEntry(
  tool: Tool,
  server: string,
  options: SyncOptions = {},
  known: Partial<KnownParts> = {},
): Entry {
  return servedEntry(tool, { kind: 'mcp', server }, options, known)
}

/** The entry of a tool that is named after its source. */
function servedEntry(
  tool: Tool,
  source: ToolSource,
  options: SyncOptions,
  { ownName = tool?.name, before }: Partial<KnownParts> = {},
): Entry {
  checkName(ownName, 'tool name')
  const name = servedName(ownName, source)
  checkName(name, 'tool name')
  checkFields(`the tool "${name}"`, tool, TOOL_FIELD_RULES)
  const isPinned =
    options.lazy === false ||
    (options.pinned && new PermittingNames(options.pinned).has({ name, ownName, source })) ||
    (options.trust === true && asksToBeLoaded(tool))
  return new Entry(tool, {
    name,
    ownName,
    source,
    before,
    deferral: isPinned ? 'pinned' : deferralOf(tool.deferred),
    trust: trustOf(options),
    isUntrusted: options.trust !== true,
  })
}

function trustOf({ trust, approved }: SyncOptions): number {
  if (trust === true) return TRUST.trustedServer
  return approved === true ? TRUST.approvedServer : TRUST.server
}

function deferralOf(deferred: boolean | undefined, otherwise: Deferral = 'unset'): Deferral {
  if (deferred === undefined) return otherwise
  return deferred ? 'deferred' : 'pinned'
}

/** MCP's `_meta` keys are namespaced; `alwaysLoad: true` means the same in any namespace. */
function asksToBeLoaded(tool: Tool): boolean {
  const meta: unknown = Reflect.get(tool, '_meta')
  return (
    isRecord(meta) &&
    Object.entries(meta).some(([key, value]) => /(^|\/)alwaysLoad$/.test(key) && value === true)
  )
}
