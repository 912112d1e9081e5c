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

/** A tool as it goes out: everything but the provider's own wrapping. */
export interface WireTool {
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
}

/** How many tools a provider takes, and how long their descriptions may be. */
export interface ToolLimits {
  /** The provider, as an error names it. */
  readonly api: string
  readonly maxTools: number
  /** Longer descriptions are cut and reported by `lossesOf`; absent: no limit. */
  readonly maxDescriptionChars?: number | undefined
}

/** A surface of a conversation to which servers came after its first request. */
export interface GrownSurface extends Surface {
  /**
   * Deferred tools that the first request did not have. `deferredTools` stays as that request had it, tools that are
   * gone included, so that nothing that was sent is ever changed.
   */
  readonly lateTools?: readonly ToolDefinition[]
}

/** A surface in a provider's words, and the way back. */
export class WireTools {
  /** Shown from the start, in the surface's order. */
  readonly shown: readonly WireTool[]
  /** For the provider to hold back; empty unless the surface is native and has a search to load them. */
  readonly deferred: readonly WireTool[]
  /** Those of `deferred` that were not there when the conversation began; they come last. */
  readonly late: readonly WireTool[]
  /** The registered name of the search tool, when one is shown. */
  readonly searchTool: string | undefined
  readonly #names: WireNames
  readonly #definitions: ReadonlyMap<string, ToolDefinition>
  readonly #translate: (definition: ToolDefinition) => TranslatedSchema
  readonly #memory: WireNameMemory
  readonly #limits: ToolLimits

  constructor(
    surface: GrownSurface,
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
    // Without a search nothing could be loaded, and a request whose tools are all deferred is refused.
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

  /** The registered name behind a wire name: of this surface, or of one before it, whose tool may be evicted now. */
  fromWireName(wireName: string): string {
    const name = this.#names.fromWire(wireName)
    return name === wireName && !this.#names.has(name) ? this.#memory.nameOf(wireName) : name
  }

  /** Arguments under the tool's own keys. */
  fromWireArguments(name: string, args: Record<string, unknown>): Record<string, unknown> {
    // The model may give `call_tool` a name as it was shown it.
    if (name === 'call_tool' && typeof args.name === 'string')
      return { ...args, name: this.fromWireName(args.name) }
    const definition = this.#definitions.get(name)
    const renamedKeys = definition && this.#translate(definition).renamedKeys
    if (!renamedKeys || renamedKeys.size === 0) return args
    return Object.fromEntries(
      Object.entries(args).map(([key, value]) => [renamedKeys.get(key) ?? key, value]),
    )
  }

  losses(): readonly ToolLoss[] {
    return [...this.#definitions.values()].flatMap((definition) => [
      ...this.#descriptionLoss(definition),
      ...this.#translate(definition).lost.map((loss) => ({ tool: definition.name, ...loss })),
    ])
  }

  /**
   * The rest of the search tool's description where the provider's limit cuts it, for the system prompt: without it
   * the model would not know what it can search for. `''` where nothing is cut.
   */
  get searchOverflow(): string {
    const search = this.searchTool === undefined ? undefined : this.#definitions.get(this.searchTool)
    if (!search) return ''
    const kept = cutText(search.description, this.#limits.maxDescriptionChars)
    if (kept === search.description) return ''
    return `More about ${search.name}: …${search.description.slice(kept.length - ELLIPSIS.length)}`
  }

  /** Throws when a request of so many tools would be refused. */
  checkCount(count: number): void {
    const { api, maxTools } = this.#limits
    if (count <= maxTools) return
    throw new ToolcribError(
      'config-invalid',
      `the request has ${count} tools and ${api} takes ${maxTools}; open the session with mode "lazy", or pin fewer tools`,
    )
  }

  #descriptionLoss({ name, description }: ToolDefinition): ToolLoss[] {
    const limit = this.#limits.maxDescriptionChars
    // What is cut of the search tool's moves to the system prompt.
    if (limit === undefined || description.length <= limit || name === this.searchTool) return []
    const reason = `cut from ${description.length} to ${limit} characters`
    return [{ tool: name, path: '', keyword: 'description', reason }]
  }

  #toWire(definition: ToolDefinition): WireTool {
    const translate = this.#translate
    return {
      name: this.#names.toWire(definition.name),
      description: cutText(definition.description, this.#limits.maxDescriptionChars),
      // Asked for only when it is sent: of thousands that are deferred, few ever are.
      get parameters() {
        return translate(definition).schema
      },
    }
  }
}

const ELLIPSIS = ' …'

/** The text within a limit, cut at a space where one is near. */
function cutText(text: string, limit: number | undefined): string {
  if (limit === undefined || text.length <= limit) return text
  const longest = text.slice(0, limit - ELLIPSIS.length)
  const space = longest.lastIndexOf(' ')
  const kept =
    space > longest.length - 100 ? longest.slice(0, space) : longest.replace(/[\uD800-\uDBFF]$/, '')
  return kept + ELLIPSIS
}

/** Reads surfaces by one provider's rules. Definitions are immutable, so each is translated once. */
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
