import { setImmediate as pause } from 'node:timers/promises'
import {
  estimateTokens,
  type Session,
  type Surface,
  type ToolAnnotations,
  type ToolDefinition,
  type ToolRegistry,
} from '@toolcrib/core'
import { isDispatchTool, isReadOnly, mcpName } from '@toolcrib/core/internal'
import type { ConnectedServers, ServerTool } from '@toolcrib/mcp'
import type { BigResults } from '../calls/big-results.ts'
import type { Json } from '../json-rpc.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import type { NamedTool } from './tool-names.ts'
import type { UnlistedServers } from './unlisted-servers.ts'
import { visibleItem } from './visible-item.ts'

const MAX_REMEMBERED = 100
/** How many tools are measured or shown before others get their turn. */
const BATCH = 200
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
  readonly #bigResults: BigResults
  readonly #saved = new Map<string, number>()
  /** What clients listed last, by the fingerprint of its surface; the oldest first. */
  readonly #lists = new Map<string, readonly ListedTool[]>()
  readonly #byOwnName = new WeakMap<readonly ServerTool[], ReadonlyMap<string, ServerTool>>()
  readonly #visible = new WeakMap<ServerTool, Json>()

  constructor(
    registry: ToolRegistry,
    servers: ConnectedServers,
    {
      unlisted,
      metrics,
      bigResults,
    }: { readonly unlisted: UnlistedServers; readonly metrics: Metrics; readonly bigResults: BigResults },
  ) {
    this.#bigResults = bigResults
    this.#metrics = metrics
    this.#unlisted = unlisted
    this.#registry = registry
    this.#servers = servers
  }

  async of(client: ClientSession): Promise<readonly ListedTool[]> {
    const { session, view } = client
    await this.#unlisted.beforeList(view)
    // What takes long with many tools is made beforehand, with turns for others in between.
    await pause()
    session.scope()
    await pause()
    void client.names
    await pause()
    const surface = session.surface()
    const shown = await this.shown(client, surface)
    this.#metrics.listed(view.profile, await this.#savedTokens(session, surface.fingerprint))
    this.#remember(surface.fingerprint, shown)
    return shown
  }

  /** What clients listed with a surface of this fingerprint; undefined once it is forgotten. */
  listed(fingerprint: string): readonly ListedTool[] | undefined {
    return this.#lists.get(fingerprint)
  }

  /** The tools of a surface, without waiting for servers, and without counting it as read by a client. */
  async shown(
    { names, view, session }: Pick<ClientSession, 'names' | 'view' | 'session'>,
    { tools }: Pick<Surface, 'tools'>,
  ): Promise<readonly ListedTool[]> {
    const shown: ListedTool[] = []
    for (const [at, definition] of tools.entries()) {
      if (at % BATCH === BATCH - 1) await pause()
      const named = names.ofRegistered(definition.name)
      if (named) shown.push(this.#toolOf(named, definition))
      else shown.push(metaTool(definition, this.#largestBehind(definition.name, session)))
    }
    return this.#bigResults.isOn(view) ? [...shown, this.#bigResults.definition] : shown
  }

  /** The largest result that a tool behind a dispatch tool wants shown whole, in characters. */
  #largestBehind(dispatchTool: string, session: Session): number {
    if (!isDispatchTool(dispatchTool)) return 0
    const { deferred } = session.scope().view
    let largest = 0
    for (const { server } of this.#servers.status())
      for (const tool of this.#servers.tools(server) ?? []) {
        const chars = tool._meta?.[MAX_RESULT_KEY]
        if (typeof chars !== 'number' || chars <= largest) continue
        const isReadable = dispatchTool === 'call_tool' || isReadOnly(tool)
        if (isReadable && deferred.has(mcpName(tool.name, server))) largest = chars
      }
    return largest
  }

  #remember(fingerprint: string, tools: readonly ListedTool[]): void {
    this.#lists.delete(fingerprint)
    this.#lists.set(fingerprint, tools)
    const oldest = this.#lists.size > MAX_LISTS ? this.#lists.keys().next().value : undefined
    if (oldest !== undefined) this.#lists.delete(oldest)
  }

  /** About how many more tokens the full list would have taken; computed once per list. */
  async #savedTokens(session: Session, fingerprint: string): Promise<number> {
    const known = this.#saved.get(fingerprint)
    if (known !== undefined) return known
    let saved = 0
    for (const [at, { name, description, inputSchema }] of session.deferred().entries()) {
      if (at % BATCH === BATCH - 1) await pause()
      saved += estimateTokens(JSON.stringify([name, description, inputSchema]))
    }
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
  call_read_tool: { readOnlyHint: true, openWorldHint: true },
  run_script: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
}

/** How Claude Code learns that a result may be longer than usual. */
const MAX_RESULT_KEY = 'anthropic/maxResultSizeChars'

function metaTool(definition: ToolDefinition, maxResultChars: number): ListedTool {
  const { description, ...tool } = definitionOf(definition)
  const annotations = annotated(META_ANNOTATIONS[definition.name])
  const meta = maxResultChars > 0 ? { _meta: { [MAX_RESULT_KEY]: maxResultChars } } : {}
  return { ...tool, description: namingCallWith(String(description)), ...annotations, ...meta }
}

/** The library's text names one dispatch tool; here the result of a search names the other where it can be used. */
export function namingCallWith(text: string): string {
  return text.replace(
    'call it with call_tool { name, arguments }',
    'call it with call_tool { name, arguments }, or with the tool that its "call_with" names',
  )
}

function definitionOf({ name, description, parameters }: ToolDefinition, shown = name): ListedTool {
  const schema = typeof parameters === 'boolean' ? {} : parameters
  const { $schema, ...rest } = schema
  // Clients refuse the whole list for a version that is no text.
  const sound = $schema === undefined || typeof $schema === 'string' ? schema : rest
  return {
    name: shown,
    description,
    inputSchema: sound.type === 'object' ? sound : { ...sound, type: 'object' },
  }
}

function annotated(annotations: ToolAnnotations | undefined): { readonly annotations?: ToolAnnotations } {
  return annotations === undefined ? {} : { annotations }
}
