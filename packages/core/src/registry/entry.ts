import { checkCapabilityRequest } from '../capability.ts'
import { ToolcribError } from '../errors.ts'
import { hashText, isRecord } from '../json.ts'
import { nameSkeletons, sourceKey, sourceName, withoutHidden } from '../names.ts'
import { copySchema } from '../schema/copy-schema.ts'
import { estimateTokens } from '../text.ts'
import type { Listing, Tool, ToolDefinition, ToolSource } from '../tool.ts'
import { checkKeys } from '../tool.ts'

/**
 * Whether a tool is deferred: never, whenever possible, or as the registry's `defer` decides; `while-few`: never as long as
 * there are fewer than `toolThreshold` tools, then as `defer` decides.
 */
export type Deferral = 'pinned' | 'deferred' | 'unset' | 'while-few'

export interface EntryOptions {
  readonly name: string
  readonly ownName: string
  readonly source: ToolSource
  readonly deferral: Deferral
  readonly searchHint?: string | undefined
  readonly trust: number
  /** True for a tool of a server without `trust`, and of an API. */
  readonly isUntrusted?: boolean
  /**
   * The entry that it replaces. An equal definition or listing stays the same object, so that an index or a surface built
   * from it stays in use.
   */
  readonly before?: Entry | undefined
  /** Keeps its own answers short, so they are never trimmed. For meta-tools only: no tool can claim it. */
  readonly isSelfLimiting?: boolean
}

/**
 * One registered tool, as it was at that moment: what the model is shown is copied and frozen, so a tool object
 * that changes later changes nothing here.
 */
export class Entry {
  readonly name: string
  readonly tool: Tool
  readonly source: ToolSource
  readonly deferral: Deferral
  readonly isSelfLimiting: boolean
  /** The server or API that wrote its description and results, when it has no `trust`. */
  readonly untrustedServer: string | undefined
  readonly listing: Listing
  readonly definition: ToolDefinition
  /** Two names collide when they share one of these. */
  readonly skeletons: readonly string[]

  constructor(tool: Tool, options: EntryOptions) {
    checkTool(tool, options.name)
    const parameters = copySchema(tool.inputSchema, options.name)
    const description = withoutHidden(tool.description)
    const searchHint = options.searchHint ?? tool.searchHint
    this.name = options.name
    this.skeletons = nameSkeletons(options.name)
    this.source = Object.freeze(options.source)
    this.deferral = options.deferral
    this.isSelfLimiting = options.isSelfLimiting === true
    this.untrustedServer = options.isUntrusted === true ? sourceName(options.source) : undefined
    this.tool = tool.name === options.name ? tool : renamed(tool, options.name)
    const { before } = options
    const definition: ToolDefinition = { name: options.name, description, parameters }
    const isSame = before !== undefined && JSON.stringify(before.definition) === JSON.stringify(definition)
    this.definition = isSame ? before.definition : Object.freeze(definition)
    const listing: Listing = {
      name: options.name,
      ownName: options.ownName,
      ...(tool.title === undefined ? {} : { title: withoutHidden(tool.title) }),
      description,
      ...(searchHint === undefined ? {} : { searchHint: withoutHidden(searchHint) }),
      inputSchema: parameters,
      ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
      source: this.source,
      trust: options.trust,
    }
    this.listing = isSame && isSameBeside(before.listing, listing) ? before.listing : Object.freeze(listing)
  }

  /** About how many tokens its definition costs a turn. */
  get tokens(): number {
    return measureDefinition(this.definition).tokens
  }

  /** Changes exactly when what the model is shown changes. */
  get fingerprint(): string {
    return measureDefinition(this.definition).fingerprint
  }
}

/** Compares entries for sorting: by code unit, the same everywhere. */
export function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}

/** The size and the identity of a definition's text. */
export interface DefinitionMeasures {
  /** About how many tokens it costs a turn. */
  readonly tokens: number
  /** Changes exactly when what the model is shown changes. */
  readonly fingerprint: string
}

/** Measures each definition once: it is frozen, and serializing it is what takes time. */
export function measureDefinition(definition: ToolDefinition): DefinitionMeasures {
  const known = MEASURED.get(definition)
  if (known) return known
  const text = JSON.stringify(definition)
  const measures = { tokens: estimateTokens(text), fingerprint: hashText(text) }
  MEASURED.set(definition, measures)
  return measures
}

const MEASURED = new WeakMap<ToolDefinition, DefinitionMeasures>()

/** Whether two listings with the same definition are equal in everything else. */
function isSameBeside(a: Listing, b: Listing): boolean {
  const isSameText = a.ownName === b.ownName && a.title === b.title && a.searchHint === b.searchHint
  return isSameText && a.trust === b.trust && sourceKey(a.source) === sourceKey(b.source)
}

const CARRIED_FIELDS = [
  'title',
  'outputSchema',
  'annotations',
  'toolset',
  'searchHint',
  'deferred',
  'alwaysInclude',
  'capabilities',
  'maxResultChars',
  'timeoutMs',
  'maxConcurrent',
  'cacheTtlMs',
] as const satisfies readonly (keyof Tool)[]

/** The same tool under another name. Methods stay bound to the original, which may be a class with private state. */
function renamed(tool: Tool, name: string): Tool {
  const carried: Partial<Record<keyof Tool, unknown>> = {}
  for (const field of CARRIED_FIELDS) if (tool[field] !== undefined) carried[field] = tool[field]
  return {
    ...(carried as Partial<Tool>),
    name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    execute: (input, ctx) => tool.execute(input, ctx),
    // Passed on as it is: the caller accepts only true, and reports anything but a boolean.
    ...(tool.isAvailable === undefined ? {} : { isAvailable: () => tool.isAvailable?.() as boolean }),
    ...(tool.reduce === undefined ? {} : { reduce: (result, context) => tool.reduce?.(result, context) }),
  }
}

function checkTool(tool: Tool, name: string): void {
  if (!isRecord(tool)) throw new ToolcribError('config-invalid', 'a tool must be an object; see defineTool()')
  checkKeys(`"${name}"`, tool)
  if (typeof tool.execute !== 'function')
    throw new ToolcribError('config-invalid', `"${name}" has no execute() to call`)
  if (typeof tool.description !== 'string')
    throw new ToolcribError('config-invalid', `"${name}" needs a description, "" if there is nothing to say`)
  if (tool.capabilities !== undefined) checkCapabilityRequest(name, tool.capabilities)
}

/** A tool as the registry lists it for people and pages: with where it is from. */
export interface ToolSchema extends ToolDefinition {
  readonly source: ToolSource['kind']
  readonly mcpServer?: string
  readonly api?: string
  readonly pluginId?: string
}

export function toolSchema({ definition, source }: Entry): ToolSchema {
  return {
    ...definition,
    source: source.kind,
    ...(source.kind === 'mcp' ? { mcpServer: source.server } : {}),
    ...(source.kind === 'plugin' ? { pluginId: source.plugin } : {}),
    ...(source.kind === 'openapi' ? { api: source.api } : {}),
  }
}

/** The part of a map that sorting reads. */
export interface ReadMap<Value> {
  get(key: string): Value | undefined
  values(): Iterable<Value>
}

/** If more names have changed, sorting all entries is as fast. */
const MAX_NOTED = 10_000

/** Sorts entries by name. Merges changes into the last result, because sorting a million entries takes a second. */
export class EntryOrder {
  /** Counts the changes of the catalogue. */
  change = 0
  /** The entries as they were sorted last, and the names that have changed since. */
  #sorted: readonly Entry[] | undefined
  #noted = new Set<string>()

  /** Notes that the entry of a name has changed. */
  note(name: string): void {
    this.change++
    if (this.#sorted === undefined) return
    this.#noted.add(name)
    if (this.#noted.size <= MAX_NOTED) return
    this.#sorted = undefined
    this.#noted = new Set()
  }

  /** `change` is the count when the entries were read. Those of an older count are sorted from scratch. */
  sort(entries: ReadMap<Entry>, change: number): readonly Entry[] {
    if (change !== this.change) return Object.freeze([...entries.values()].sort(byName))
    const sorted =
      this.#sorted === undefined
        ? [...entries.values()].sort(byName)
        : merged(this.#sorted, this.#noted, entries)
    this.#sorted = Object.freeze(sorted)
    this.#noted = new Set()
    return this.#sorted
  }
}

/** The sorted entries, with those of the changed names replaced. */
function merged(sorted: readonly Entry[], changed: ReadonlySet<string>, entries: ReadMap<Entry>): Entry[] {
  const newest = [...changed].flatMap((name) => entries.get(name) ?? []).sort(byName)
  const all: Entry[] = []
  let next = 0
  for (const entry of sorted) {
    for (let other = newest[next]; other !== undefined && other.name < entry.name; other = newest[++next])
      all.push(other)
    if (!changed.has(entry.name)) all.push(entry)
  }
  all.push(...newest.slice(next))
  return all
}
