import { createHash } from 'node:crypto'
import type { ToolRegistry } from '@toolcrib/core'
import { SEARCH_TOOL_NAMES } from '@toolcrib/core/internal'
import type { NameStyle } from '../gateway-options.ts'

/** One tool of the registry, with the name that clients are shown. */
export interface NamedTool {
  /** The name in the registry: `mcp__github__search`. */
  readonly registered: string
  /** The name clients are shown: `github__search`. */
  readonly shown: string
  /** The server it is from; undefined for tools that are from no server. */
  readonly server: string | undefined
  /** The name its server gave it: `search`. */
  readonly ownName: string
}

/** Names that the gateway uses itself. */
const TAKEN: readonly string[] = [...SEARCH_TOOL_NAMES, 'call_tool', 'call_read_tool', 'run_script']
/** Some clients drop tools with longer names. */
const MAX_CHARACTERS = 64
const HASH_DIGITS = 8

/**
 * The names under which clients see the tools of a registry. A name depends only on the registry, not on the client,
 * and is the same after a restart.
 */
export class ToolNames {
  readonly #byRegistered = new Map<string, NamedTool>()
  readonly #byShown = new Map<string, NamedTool>()
  readonly #byOwnName = new Map<string, NamedTool[]>()

  constructor(registry: ToolRegistry, style: NameStyle) {
    const tools = registry.listSchemas().map(({ name, mcpServer: server }) => ({
      registered: name,
      server,
      ownName: server === undefined ? name : name.slice(`mcp__${server}__`.length),
    }))
    const owners = new Map<string, number>(TAKEN.map((name) => [name, 1]))
    for (const { ownName } of tools) owners.set(ownName, (owners.get(ownName) ?? 0) + 1)
    for (const tool of tools) {
      const isPlain = tool.server === undefined || (style === 'plain' && owners.get(tool.ownName) === 1)
      const wanted = isPlain ? tool.ownName : `${tool.server}__${tool.ownName}`
      this.#add({ ...tool, shown: wireName(wanted) })
    }
  }

  ofRegistered(name: string): NamedTool | undefined {
    return this.#byRegistered.get(name)
  }

  ofShown(name: string): NamedTool | undefined {
    return this.#byShown.get(name)
  }

  /** The name that clients see for a registered name; unknown names are returned unchanged. */
  shown(registered: string): string {
    return this.#byRegistered.get(registered)?.shown ?? registered
  }

  /** Tools of other servers with the same own name. */
  twinsOf(registered: string): readonly NamedTool[] {
    const tool = this.#byRegistered.get(registered)
    if (tool?.server === undefined) return []
    const alike = this.#byOwnName.get(tool.ownName) ?? []
    return alike.filter(({ server }) => server !== undefined && server !== tool.server)
  }

  #add(tool: NamedTool): void {
    const { shown, registered } = tool
    const isTaken = this.#byShown.has(shown) || (tool.server !== undefined && TAKEN.includes(shown))
    const named = isTaken ? { ...tool, shown: changed(shown, registered) } : tool
    this.#byRegistered.set(registered, named)
    this.#byShown.set(named.shown, named)
    const alike = this.#byOwnName.get(named.ownName)
    if (alike) alike.push(named)
    else this.#byOwnName.set(named.ownName, [named])
  }
}

/** The name of a server's prompt or tool with its server: `<server>__<name>`. */
export function prefixedName(server: string, name: string): string {
  return `${server}__${name}`
}

/** A name with only the characters that every client accepts. */
export function withWireCharacters(name: string): string {
  return name.replace(/[^A-Za-z0-9_.-]+/g, '_')
}

function wireName(name: string): string {
  const kept = withWireCharacters(name)
  return kept === name && name.length <= MAX_CHARACTERS ? name : changed(kept, name)
}

function changed(name: string, whole: string): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_DIGITS)
  return `${name.slice(0, MAX_CHARACTERS - HASH_DIGITS - 1)}_${hash}`
}
