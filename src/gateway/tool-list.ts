import {
  estimateTokens,
  type Session,
  type Surface,
  type ToolAnnotations,
  type ToolDefinition,
  type ToolRegistry,
} from 'toolcrib'
import type { ConnectedServers, ServerTool } from 'toolcrib/mcp'
import type { Json } from './json-rpc.ts'
import type { Metrics } from './metrics.ts'
import type { CallScene } from './tool-calls.ts'
import type { NamedTool } from './tool-names.ts'
import type { UnlistedServers } from './unlisted-servers.ts'
import { visibleItem } from './visible-item.ts'

const MAX_REMEMBERED = 100
/** Few, because each keeps its tools in memory. */
const MAX_LISTS = 20

/** A tool as clients list it. */
export type ListedTool = Readonly<Record<string, unknown>> & { readonly name: string }

/**
 * The tools that a session shows, as `tools/list` returns them: a server's own definition under the name shown here.
 */
export class ToolList {
  readonly #registry: ToolRegistry
  readonly #servers: ConnectedServers
  readonly #unlisted: UnlistedServers
  readonly #metrics: Metrics
  readonly #saved = new Map<string, number>()
  /** What clients listed last, by the fingerprint of its surface; the oldest first. */
  readonly #lists = new Map<string, Pick<CallScene, 'names'> & { readonly surface: Surface }>()
  readonly #byOwnName = new WeakMap<readonly ServerTool[], ReadonlyMap<string, ServerTool>>()
  readonly #visible = new WeakMap<ServerTool, Json>()

  constructor(
    registry: ToolRegistry,
    servers: ConnectedServers,
    { unlisted, metrics }: { readonly unlisted: UnlistedServers; readonly metrics: Metrics },
  ) {
    this.#metrics = metrics
    this.#unlisted = unlisted
    this.#registry = registry
    this.#servers = servers
  }

  async of(scene: CallScene): Promise<readonly ListedTool[]> {
    const { session, view } = scene
    await this.#unlisted.beforeList(view)
    const surface = session.surface()
    this.#metrics.listed(view.profile, this.#savedTokens(session, surface.fingerprint))
    this.#remember(scene, surface)
    return this.shown(scene, surface)
  }

  /** What clients listed with a surface of this fingerprint; undefined once it is forgotten. */
  listed(fingerprint: string): readonly ListedTool[] | undefined {
    const known = this.#lists.get(fingerprint)
    return known && this.shown(known, known.surface)
  }

  /** The tools of a surface, without waiting for servers, and without counting it as read by a client. */
  shown({ names }: Pick<CallScene, 'names'>, { tools }: Pick<Surface, 'tools'>): readonly ListedTool[] {
    return tools.flatMap((definition) => {
      const named = names.ofRegistered(definition.name)
      if (named) return [this.#toolOf(named, definition)]
      const door = { ...doorFor(definitionOf(definition)), ...annotated(META_ANNOTATIONS[definition.name]) }
      return definition.name === 'call_tool' ? [door, CALL_READ_TOOL] : [door]
    })
  }

  #remember({ names }: CallScene, surface: Surface): void {
    this.#lists.delete(surface.fingerprint)
    this.#lists.set(surface.fingerprint, { names, surface })
    const oldest = this.#lists.size > MAX_LISTS ? this.#lists.keys().next().value : undefined
    if (oldest !== undefined) this.#lists.delete(oldest)
  }

  /** About how many more tokens the full list would have taken; computed once per list. */
  #savedTokens(session: Session, fingerprint: string): number {
    const known = this.#saved.get(fingerprint)
    if (known !== undefined) return known
    const left = session
      .deferred()
      .map(({ name, description, inputSchema }) => [name, description, inputSchema])
    const saved = left.reduce((sum, definition) => sum + estimateTokens(JSON.stringify(definition)), 0)
    if (this.#saved.size >= MAX_REMEMBERED) this.#saved.clear()
    this.#saved.set(fingerprint, saved)
    return saved
  }

  #toolOf(named: NamedTool, definition: ToolDefinition): ListedTool {
    const own = definitionOf(definition, named.shown)
    const listed = this.#listed(named)
    if (listed) return { ...listed, ...own }
    const { title, annotations } = this.#registry.get(named.registered) ?? {}
    return { ...own, ...(title === undefined ? {} : { title }), ...annotated(annotations) }
  }

  /** The tool as its server listed it, without hidden characters; undefined for a tool that no server listed. */
  #listed({ server, ownName }: NamedTool): Json | undefined {
    const tools = server === undefined ? undefined : this.#servers.tools(server)
    if (!tools) return undefined
    const known = this.#byOwnName.get(tools)
    const byName = known ?? new Map(tools.map((tool) => [tool.name, tool]))
    if (!known) this.#byOwnName.set(tools, byName)
    const tool = byName.get(ownName)
    return tool?.listed && this.#visibleOf(tool, tool.listed)
  }

  #visibleOf(tool: ServerTool, listed: Json): Json {
    const known = this.#visible.get(tool)
    if (known) return known
    // The registry's copies of these two are shown.
    const { description, inputSchema, ...rest } = listed
    const visible = visibleItem(rest)
    this.#visible.set(tool, visible)
    return visible
  }
}

const META_ANNOTATIONS: Readonly<Record<string, ToolAnnotations>> = {
  tool_search: { readOnlyHint: true, openWorldHint: false },
  tool_search_regex: { readOnlyHint: true, openWorldHint: false },
  ToolSearch: { readOnlyHint: true, openWorldHint: false },
  call_tool: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
}

const CALL_READ_TOOL: ListedTool = {
  name: 'call_read_tool',
  description:
    'Calls a tool that only reads: one that the search marks with "call_with": "call_read_tool". Takes the same arguments as call_tool, and refuses every other tool.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the tool, as the search returned it.' },
      arguments: { type: 'object', description: 'The arguments of that tool.', additionalProperties: true },
    },
    required: ['name'],
  },
  annotations: { readOnlyHint: true, openWorldHint: true },
}

function doorFor({ description, ...tool }: ListedTool): ListedTool {
  return { ...tool, description: withTwoDoors(String(description)) }
}

/** The library has one door; here the result of a search says which of the two to use. */
export function withTwoDoors(text: string): string {
  return text.replace(ONE_DOOR, TWO_DOORS)
}

const ONE_DOOR = 'call it with call_tool { name, arguments }'
const TWO_DOORS = 'call each through the tool that its "call_with" names, with { name, arguments }'

function definitionOf({ name, description, parameters }: ToolDefinition, shown = name): ListedTool {
  const schema = typeof parameters === 'boolean' ? {} : parameters
  return {
    name: shown,
    description,
    inputSchema: schema.type === 'object' ? schema : { ...schema, type: 'object' },
  }
}

function annotated(annotations: ToolAnnotations | undefined): { readonly annotations?: ToolAnnotations } {
  return annotations === undefined ? {} : { annotations }
}
