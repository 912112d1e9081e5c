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
import { isRecord } from '../json.ts'
import { checkName, sourceKey } from '../names.ts'
import { checkSchema } from '../schema/check-schema.ts'
import { TOOL_FIELD_RULES, type Tool, type ToolSource } from '../tool.ts'
import type { Catalogue } from './catalogue.ts'
import { type Deferral, Entry } from './entry.ts'

/** Options for registering one tool. */
export interface RegisterOptions {
  /** The plugin it belongs to; without it, the tool is built in. */
  readonly pluginId?: string
  /** Overrides the tool's own `deferred`. */
  readonly deferred?: boolean
  /** Overrides the tool's own `searchHint`. */
  readonly searchHint?: string
  /** Shown from the start, in every mode. */
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

  constructor(catalogue: Catalogue, emit: Emit) {
    this.#catalogue = catalogue
    this.#emit = emit
  }

  register(tool: Tool, options: RegisterOptions): void {
    checkOptions<RegisterOptions>('register()', options, REGISTER_RULES)
    if (options.preload && options.deferred)
      throw new ToolcribError(
        'config-invalid',
        'register() takes preload or deferred, not both: a preloaded tool is always shown',
      )
    this.#add(localEntry(tool, options), options.replace === true)
  }

  registerAll(tools: readonly Tool[]): void {
    requireList(tools, 'registerAll')
    const entries = tools.map((tool) => localEntry(tool, {}))
    this.#catalogue.addAll(entries)
    for (const { name, source } of entries) this.#emit({ type: 'tool-registered', name, source })
  }

  registerMcp(tool: Tool, server: string): void {
    checkName(server, 'server name')
    this.#add(mcpEntry(tool, server), false)
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

  /** The entries of a server's list; a tool that cannot be registered is left out with the reason. */
  #mcpEntries(tools: readonly Tool[], server: string, options: SyncOptions) {
    checkName(server, 'server name')
    const source: ToolSource = Object.freeze({ kind: 'mcp', server })
    const entries: Entry[] = []
    const skipped: { name: string; reason: string }[] = []
    for (const tool of tools) {
      try {
        const before = this.#catalogue.get(mcpName(tool?.name, server))
        entries.push(mcpEntry(tool, server, options, { source, before }))
      } catch (error) {
        skipped.push({ name: String(tool?.name ?? '(no name)').slice(0, 200), reason: describeError(error) })
      }
    }
    return { entries, skipped }
  }

  #add(entry: Entry, replace: boolean): void {
    this.#catalogue.add(entry, { replace })
    this.#emit({ type: 'tool-registered', name: entry.name, source: entry.source })
  }
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
export function localEntry(tool: Tool, { pluginId, deferred, searchHint, preload }: RegisterOptions): Entry {
  checkName(tool?.name, 'tool name')
  checkFields(`the tool "${tool.name}"`, tool, TOOL_FIELD_RULES)
  if (pluginId !== undefined) checkName(pluginId, 'plugin id')
  const source: ToolSource =
    pluginId === undefined ? { kind: 'builtin' } : { kind: 'plugin', plugin: pluginId }
  const entry = new Entry(tool, {
    name: tool.name,
    ownName: tool.name,
    source,
    deferral: preload ? 'pinned' : deferralOf(deferred ?? tool.deferred),
    searchHint,
    trust: pluginId === undefined ? TRUST.builtin : TRUST.plugin,
  })
  checkSchema(entry.definition.parameters, tool.name, 'inputSchema')
  if (tool.outputSchema !== undefined) checkSchema(tool.outputSchema, tool.name, 'outputSchema')
  return entry
}

/** Existing objects that a new entry of a server's tool refers to. */
interface SharedParts {
  /** The source that all tools of the server share. */
  readonly source: ToolSource
  /** The entry that it replaces. */
  readonly before: Entry | undefined
}

/** The entry of a server's tool, named `mcp__<server>__<tool>`. */
export function mcpEntry(
  tool: Tool,
  server: string,
  options: SyncOptions = {},
  { source = { kind: 'mcp', server }, before }: Partial<SharedParts> = {},
): Entry {
  checkName(tool?.name, 'tool name')
  const name = mcpName(tool.name, server)
  checkName(name, 'tool name')
  checkFields(`the tool "${name}"`, tool, TOOL_FIELD_RULES)
  const isPinned =
    options.lazy === false ||
    options.pinned?.includes(tool.name) ||
    options.pinned?.includes(name) ||
    (options.trust === true && asksToBeLoaded(tool))
  return new Entry(tool, {
    name,
    ownName: tool.name,
    source,
    before,
    deferral: isPinned ? 'pinned' : deferralOf(tool.deferred),
    trust: trustOf(options),
    isUntrusted: options.trust !== true,
  })
}

function mcpName(name: string, server: string): string {
  return `mcp__${server}__${name}`
}

function trustOf({ trust, approved }: SyncOptions): number {
  if (trust === true) return TRUST.trustedServer
  return approved === true ? TRUST.approvedServer : TRUST.server
}

function deferralOf(deferred: boolean | undefined): Deferral {
  if (deferred === undefined) return 'unset'
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
