import { ToolcribError } from '../errors.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import {
  type ObjectSchema,
  type TranslatedSchema,
  translateSchema,
} from '../schema/translate/translate-schema.ts'
import type { Surface } from '../session/surface.ts'
import type { ToolDefinition } from '../tool.ts'
import { SEARCH_TOOLS, type ToolLoss } from './dialect.ts'
import { WireNameMemory, WireNames } from './wire-names.ts'

/** A tool in wire form, without the provider's own wrapping. */
export interface WireTool {
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
}

/** A provider's limits on the number of tools and the length of descriptions. */
export interface ToolLimits {
  /** The provider's name in errors. */
  readonly api: string
  readonly maxTools: number
  /** Whether deferred tools count too: a session with more of them uses dispatch instead. */
  readonly countsDeferred?: boolean
  /** Longer descriptions are cut, and `lossesOf` reports it. No limit if absent. */
  readonly maxDescriptionChars?: number | undefined
}

/** What to do about too many tools: without a search, and where all that can be deferred is. */
const DEFER_THEM =
  'open the session with mode "lazy", which defers all but pinned and preloaded tools; registerFunction() preloads a tool without deferred: true'
const PIN_FEWER =
  'pin and preload fewer tools (registerFunction() preloads one without deferred: true), or use strategy "dispatch", which does not show activated ones'

/** A surface in wire form, and the mapping back. */
export class WireTools {
  /** Shown from the start, in the surface's order. */
  readonly shown: readonly WireTool[]
  /** Tools for the provider to defer; empty unless the surface is native and has a search tool to load them. */
  readonly deferred: readonly WireTool[]
  /** The tools in `deferred` that joined after the conversation began; they come last. */
  readonly late: readonly WireTool[]
  /** The registered name of the search tool, if one is shown. */
  readonly searchTool: string | undefined
  readonly #names: WireNames
  readonly #definitions: ReadonlyMap<string, ToolDefinition>
  readonly #translate: (definition: ToolDefinition) => TranslatedSchema
  readonly #memory: WireNameMemory
  readonly #limits: ToolLimits

  constructor(
    surface: Surface,
    translate: (definition: ToolDefinition) => TranslatedSchema,
    memory: WireNameMemory,
    limits: ToolLimits,
  ) {
    const late = surface.lateTools ?? []
    const deferred = [...(surface.deferredTools ?? []), ...late]
    const all = [...surface.tools, ...deferred]
    this.#names = new WireNames(all.map(({ name }) => name))
    this.#definitions = new Map(all.map((definition) => [definition.name, definition]))
    this.#translate = translate
    this.#memory = memory
    this.#limits = limits
    for (const { name } of all) memory.add(this.#names.toWire(name), name)
    this.searchTool = surface.tools.find(({ name }) => SEARCH_TOOLS.has(name))?.name
    // Without a search tool nothing could be loaded, and providers reject a request in which every tool is deferred.
    const isReachable = this.searchTool !== undefined
    this.shown = (isReachable ? surface.tools : all).map((definition) => this.#toWire(definition))
    this.deferred = isReachable ? deferred.map((definition) => this.#toWire(definition)) : []
    this.late = isReachable && late.length > 0 ? this.deferred.slice(-late.length) : []
  }

  isSearch(name: string): boolean {
    return name === this.searchTool
  }

  toWireName(name: string): string {
    return this.#names.toWire(name)
  }

  /** The registered name of a wire name, from this surface or an earlier one whose tool may be evicted now. */
  fromWireName(wireName: string): string {
    const name = this.#names.fromWire(wireName)
    return name === wireName && !this.#names.has(name) ? this.#memory.nameOf(wireName) : name
  }

  /** Maps argument keys back to the tool's own. */
  fromWireArguments(name: string, args: Record<string, unknown>): Record<string, unknown> {
    // The model may pass `call_tool` a wire name.
    if (name === 'call_tool' && typeof args.name === 'string')
      return { ...args, name: this.fromWireName(args.name) }
    const definition = this.#definitions.get(name)
    const renamedKeys = definition && this.#translate(definition).renamedKeys
    if (!renamedKeys || renamedKeys.size === 0) return args
    return Object.fromEntries(
      Object.entries(args).map(([key, value]) => [renamedKeys.get(key) ?? key, value]),
    )
  }

  /** The registered definition behind a wire name, as the search shows it. */
  definitionOf(wireName: string): ToolDefinition | undefined {
    return this.#definitions.get(this.#names.fromWire(wireName))
  }

  losses(): readonly ToolLoss[] {
    return [...this.#definitions.values()].flatMap((definition) => [
      ...this.#descriptionLoss(definition),
      ...this.#translate(definition).lost.map((loss) => ({ tool: definition.name, ...loss })),
    ])
  }

  /**
   * The rest of the search tool's description if the provider's limit cuts it, for the system prompt: the model needs
   * it to know what it can search for. `''` if nothing is cut.
   */
  get searchOverflow(): string {
    const search = this.searchTool === undefined ? undefined : this.#definitions.get(this.searchTool)
    if (!search) return ''
    const kept = cutText(search.description, this.#limits.maxDescriptionChars)
    if (kept === search.description) return ''
    return `More about ${search.name}: …${search.description.slice(kept.length - ELLIPSIS.length)}`
  }

  /** Throws `config-invalid` if the provider would reject this many tools. */
  checkCount(count: number): void {
    const { api, maxTools } = this.#limits
    if (count <= maxTools) return
    const hint = this.searchTool === undefined ? DEFER_THEM : PIN_FEWER
    throw new ToolcribError(
      'config-invalid',
      `the request has ${count} tools, but ${api} allows ${maxTools}; ${hint}`,
    )
  }

  /** Throws `config-invalid` if one of the host's tools has the name of one of the session's: providers reject such a request. */
  checkHostNames(names: readonly (string | undefined)[]): void {
    if (names.length === 0) return
    const own = new Set([...this.shown, ...this.deferred].map(({ name }) => name))
    for (const late of this.late) own.delete(late.name)
    const taken = names.find((name) => name !== undefined && own.has(name))
    if (taken === undefined) return
    throw new ToolcribError(
      'config-invalid',
      `the host's tool "${taken}" has the name of a tool of the session; rename it, or open the session with policy { deny: [${JSON.stringify(this.fromWireName(taken))}] }`,
    )
  }

  #descriptionLoss({ name, description }: ToolDefinition): ToolLoss[] {
    const limit = this.#limits.maxDescriptionChars
    // The rest of the search tool's description moves to the system prompt.
    if (limit === undefined || description.length <= limit || name === this.searchTool) return []
    const reason = `cut from ${description.length} to ${limit} characters`
    return [{ tool: name, path: '', keyword: 'description', reason }]
  }

  #toWire(definition: ToolDefinition): WireTool {
    const translate = this.#translate
    return {
      name: this.#names.toWire(definition.name),
      description: cutText(definition.description, this.#limits.maxDescriptionChars),
      // Computed lazily: of thousands of deferred tools, few are ever sent.
      get parameters() {
        return translate(definition).schema
      },
    }
  }
}

const ELLIPSIS = ' …'

/** Cuts a text to a limit, at a space if one is near. */
function cutText(text: string, limit: number | undefined): string {
  if (limit === undefined || text.length <= limit) return text
  const longest = text.slice(0, limit - ELLIPSIS.length)
  const space = longest.lastIndexOf(' ')
  const kept =
    space > longest.length - 100 ? longest.slice(0, space) : longest.replace(/[\uD800-\uDBFF]$/, '')
  return kept + ELLIPSIS
}

/** Translates surfaces by one provider's rules. Definitions are immutable, so each is translated once. */
export function wireToolsBy(rules: SchemaRules, limits: ToolLimits): (surface: Surface) => WireTools {
  const translations = new WeakMap<ToolDefinition, TranslatedSchema>()
  const surfaces = new WeakMap<Surface, WireTools>()
  const memory = new WireNameMemory()
  const translate = (definition: ToolDefinition) => {
    const known = translations.get(definition)
    if (known) return known
    const translated = translateSchema(definition.parameters, rules)
    translations.set(definition, translated)
    return translated
  }
  return (surface) => {
    const known = surfaces.get(surface)
    if (known) return known
    const wireTools = new WireTools(surface, translate, memory, limits)
    surfaces.set(surface, wireTools)
    return wireTools
  }
}
