import { ToolcribError } from '../errors.ts'
import { isDispatchTool, isSearchTool } from '../names.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import {
  type ObjectSchema,
  type TranslatedSchema,
  translateSchema,
} from '../schema/translate/translate-schema.ts'
import type { Surface } from '../session/surface.ts'
import type { ToolDefinition } from '../tool.ts'
import type { ToolLoss } from './dialect.ts'
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
const DEFER_THEM = 'open the session with mode "lazy", which defers all but pinned and preloaded tools'
const PIN_FEWER =
  'pin and preload fewer tools, or use strategy "dispatch", which does not show activated ones'

/** A surface in wire form, and the mapping back. */
export class WireTools {
  /** Shown from the start, in the surface's order. */
  readonly shown: readonly WireTool[]
  /** The registered name of the search tool, if one is shown. */
  readonly searchTool: string | undefined
  readonly #surface: Surface
  readonly #first: ToolLayer
  readonly #limits: ToolLimits

  constructor(surface: Surface, first: ToolLayer, limits: ToolLimits) {
    this.#surface = surface
    this.#first = first
    this.#limits = limits
    this.searchTool = surface.tools.find(({ name }) => isSearchTool(name))?.name
    // Without a search tool nothing could be loaded, and providers reject a request in which every tool is deferred.
    const isReachable = this.searchTool !== undefined
    this.shown = isReachable ? first.tools : this.#layers.flatMap(({ tools }) => tools)
  }

  /** Tools for the provider to defer; empty unless the surface is native and has a search tool to load them. */
  get deferred(): readonly WireTool[] {
    return this.hasDeferred ? this.#last.behindFirst : []
  }

  /** The tools in `deferred` that joined after the conversation began; they come last. */
  get late(): readonly WireTool[] {
    return this.searchTool !== undefined && this.#surface.lateTools ? this.#last.tools : []
  }

  /** Whether any tools are deferred. Some requests need to know no more. */
  get hasDeferred(): boolean {
    const { deferredTools = [], lateTools = [] } = this.#surface
    return this.searchTool !== undefined && deferredTools.length + lateTools.length > 0
  }

  isSearch(name: string): boolean {
    return name === this.searchTool
  }

  toWireName(name: string): string {
    return this.#layerOf(this.#first.names.has(name)).names.toWire(name)
  }

  /** Whether a tool of the surface has this wire name. */
  has(wireName: string): boolean {
    return this.#first.names.hasWire(wireName) || this.#last.names.hasWire(wireName)
  }

  /** The same for a name that the model reads in an answer, and may send back before any request declares it. */
  shownName(name: string): string {
    const wireName = this.toWireName(name)
    this.#first.memory.add(wireName, name)
    return wireName
  }

  /** The registered name of a wire name, from this surface or an earlier one whose tool may be evicted now. */
  fromWireName(wireName: string): string {
    const { names, memory } = this.#layerOf(this.#first.names.hasWire(wireName))
    return names.hasWire(wireName) || names.has(wireName) ? names.fromWire(wireName) : memory.nameOf(wireName)
  }

  /** Maps argument keys back to the tool's own. */
  fromWireArguments(name: string, args: Record<string, unknown>): Record<string, unknown> {
    // The model may pass a wire name to these.
    if ((isDispatchTool(name) || this.isSearch(name)) && typeof args.name === 'string')
      return { ...args, name: this.fromWireName(args.name) }
    const layer = this.#layerOf(this.#first.names.has(name))
    const definition = layer.definition(name)
    const renamedKeys = definition && layer.translate(definition).renamedKeys
    if (!renamedKeys || renamedKeys.size === 0) return args
    return Object.fromEntries(
      Object.entries(args).map(([key, value]) => [renamedKeys.get(key) ?? key, value]),
    )
  }

  /** The registered definition behind a wire name, as the search shows it. */
  definitionOf(wireName: string): ToolDefinition | undefined {
    const layer = this.#layerOf(this.#first.names.hasWire(wireName))
    return layer.definition(layer.names.fromWire(wireName))
  }

  losses(): readonly ToolLoss[] {
    const { translate } = this.#first
    return this.#layers
      .flatMap(({ definitions }) => definitions)
      .flatMap((definition) => [
        ...this.#descriptionLoss(definition),
        ...translate(definition).lost.map((loss) => ({ tool: definition.name, ...loss })),
      ])
  }

  /**
   * The rest of the search tool's description if the provider's limit cuts it, for the system prompt: the model needs
   * it to know what it can search for. `''` if nothing is cut.
   */
  get searchOverflow(): string {
    const search = this.searchTool === undefined ? undefined : this.#first.definition(this.searchTool)
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
    const late = new Set(this.late.map(({ name }) => name))
    const taken = names.find((name) => name !== undefined && this.has(name) && !late.has(name))
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

  /** The layer with all tools, which is made when it is first needed. */
  get #last(): ToolLayer {
    return this.#layers.at(-1) ?? this.#first
  }

  #layerOf(isShown: boolean): ToolLayer {
    return isShown ? this.#first : this.#last
  }

  get #layers(): readonly ToolLayer[] {
    const layers = [this.#first]
    for (const definitions of [this.#surface.deferredTools, this.#surface.lateTools])
      if (definitions) layers.push((layers.at(-1) ?? this.#first).next(definitions))
    return layers
  }
}

/** Some tools of a surface in wire form, on top of those that come before them. Surfaces that begin alike share their layers. */
class ToolLayer {
  readonly names: WireNames
  readonly definitions: readonly ToolDefinition[]
  readonly tools: readonly WireTool[]
  readonly memory: WireNameMemory
  readonly translate: (definition: ToolDefinition) => TranslatedSchema
  readonly #maxChars: number | undefined
  readonly #before: ToolLayer | undefined
  readonly #next = new WeakMap<readonly ToolDefinition[], ToolLayer>()
  #behindFirst: readonly WireTool[] | undefined
  #byName: ReadonlyMap<string, ToolDefinition> | undefined

  constructor(
    definitions: readonly ToolDefinition[],
    by: Pick<ToolLayer, 'memory' | 'translate'> & { readonly maxChars: number | undefined },
    before?: ToolLayer,
  ) {
    this.memory = by.memory
    this.translate = by.translate
    this.#maxChars = by.maxChars
    this.#before = before
    this.names = new WireNames(
      definitions.map(({ name }) => name),
      before?.names,
    )
    this.definitions = definitions
    for (const [name, wireName] of this.names.changed) this.memory.add(wireName, name)
    this.tools = definitions.map((definition) => this.#toWire(definition))
  }

  /** These tools and those before them, without those of the first layer. */
  get behindFirst(): readonly WireTool[] {
    if (this.#before === undefined) return []
    this.#behindFirst ??= [...this.#before.behindFirst, ...this.tools]
    return this.#behindFirst
  }

  /** The layer of more tools on top of this one. */
  next(definitions: readonly ToolDefinition[]): ToolLayer {
    const known = this.#next.get(definitions)
    if (known) return known
    const { memory, translate } = this
    const next = new ToolLayer(definitions, { memory, translate, maxChars: this.#maxChars }, this)
    this.#next.set(definitions, next)
    return next
  }

  definition(name: string): ToolDefinition | undefined {
    this.#byName ??= new Map(this.definitions.map((definition) => [definition.name, definition]))
    return this.#byName.get(name) ?? this.#before?.definition(name)
  }

  #toWire(definition: ToolDefinition): WireTool {
    const { translate } = this
    return {
      name: this.names.toWire(definition.name),
      description: cutText(definition.description, this.#maxChars),
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
  const layers = new WeakMap<readonly ToolDefinition[], ToolLayer>()
  const layerOf = (definitions: readonly ToolDefinition[]) => {
    const known = layers.get(definitions)
    if (known) return known
    const layer = new ToolLayer(definitions, { memory, translate, maxChars: limits.maxDescriptionChars })
    layers.set(definitions, layer)
    return layer
  }
  return (surface) => {
    const known = surfaces.get(surface)
    if (known) return known
    const wireTools = new WireTools(surface, layerOf(surface.tools), limits)
    surfaces.set(surface, wireTools)
    return wireTools
  }
}
