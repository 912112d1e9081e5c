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

/** A tool as it goes out: everything but the provider's own wrapping. */
export interface WireTool {
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
}

/** The names of the meta-tools that search; they are reserved, so no other tool bears one. */
const SEARCH_TOOLS: ReadonlySet<string> = new Set(['tool_search', 'tool_search_regex', 'ToolSearch'])

/** A surface in a provider's words, and the way back. */
export class WireTools {
  /** Shown from the start, in the surface's order. */
  readonly shown: readonly WireTool[]
  /** For the provider to hold back; empty unless the surface is native and has a search to load them. */
  readonly deferred: readonly WireTool[]
  /** The registered name of the search tool, when one is shown. */
  readonly searchTool: string | undefined
  readonly #names: WireNames
  readonly #definitions: ReadonlyMap<string, ToolDefinition>
  readonly #translate: (definition: ToolDefinition) => TranslatedSchema
  readonly #memory: WireNameMemory

  constructor(
    surface: Surface,
    translate: (definition: ToolDefinition) => TranslatedSchema,
    memory: WireNameMemory,
  ) {
    const deferred = surface.deferredTools ?? []
    const all = [...surface.tools, ...deferred]
    this.#names = new WireNames(all.map(({ name }) => name))
    this.#definitions = new Map(all.map((definition) => [definition.name, definition]))
    this.#translate = translate
    this.#memory = memory
    for (const { name } of all) memory.add(this.#names.toWire(name), name)
    this.searchTool = surface.tools.find(({ name }) => SEARCH_TOOLS.has(name))?.name
    // Without a search nothing could be loaded, and a request whose tools are all deferred is refused.
    const isReachable = this.searchTool !== undefined
    this.shown = (isReachable ? surface.tools : all).map((definition) => this.#toWire(definition))
    this.deferred = isReachable ? deferred.map((definition) => this.#toWire(definition)) : []
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
    return [...this.#definitions.values()].flatMap((definition) =>
      this.#translate(definition).lost.map((loss) => ({ tool: definition.name, ...loss })),
    )
  }

  #toWire(definition: ToolDefinition): WireTool {
    const translate = this.#translate
    return {
      name: this.#names.toWire(definition.name),
      description: definition.description,
      // Asked for only when it is sent: of thousands that are deferred, few ever are.
      get parameters() {
        return translate(definition).schema
      },
    }
  }
}

/** Reads surfaces by one provider's rules. Definitions are immutable, so each is translated once. */
export function wireToolsBy(rules: SchemaRules): (surface: Surface) => WireTools {
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
    const wireTools = new WireTools(surface, translate, memory)
    surfaces.set(surface, wireTools)
    return wireTools
  }
}
