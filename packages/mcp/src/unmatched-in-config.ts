import type { NamedTool, UnmatchedPattern } from '@toolcrib/core/internal'
import { mcpName, nearestName, type PatternLists, unmatchedPatterns } from '@toolcrib/core/internal'
import type { OpenedRegistry } from './open-from-config.ts'

/** A name or glob of a config that matches no tool. */
export interface UnmatchedInConfig extends UnmatchedPattern {
  /** The table that has it: `[tools]`, `[profile.work]`, `[server.github]`. */
  readonly table: string
  /** Servers whose tools are not known yet, and may include it; none: it is certain that nothing matches. */
  readonly unknown: readonly string[]
}

/**
 * Returns the names and globs of `allow`, `deny` and `pinned` in a config that match no tool that its servers list,
 * whatever other lists say about that tool. Call it once the servers are ready.
 */
export function unmatchedInConfig({
  config,
  registry,
  servers,
}: Pick<OpenedRegistry, 'config' | 'registry' | 'servers'>): readonly UnmatchedInConfig[] {
  const names = Object.keys(config.servers)
  const unlisted = names.filter((server) => servers.tools(server) === undefined)
  const own = registry.listSchemas().filter(({ source }) => source !== 'mcp')
  const listed = names.flatMap((server) => toolsOf(servers, server))
  const all: readonly NamedTool[] = [
    ...own.map(({ name, api }): NamedTool => {
      if (api === undefined) return { name, ownName: name, source: { kind: 'builtin' } }
      return { name, ownName: name.slice(`openapi__${api}__`.length), source: { kind: 'openapi', api } }
    }),
    ...registry.skills().map(({ name }): NamedTool => {
      return { name: `skill__local__${name}`, ownName: name, source: { kind: 'builtin' } }
    }),
    ...listed,
  ]
  const inTable = (table: string, lists: PatternLists, tools: readonly NamedTool[]): UnmatchedInConfig[] => {
    const nearest = (pattern: string) => nearestOf(pattern, tools)
    return unmatchedPatterns(lists, tools, nearest).map((unmatched) => {
      const unknown =
        tools === all ? unlisted.filter((server) => mayBeOf(server, unmatched.pattern, names)) : []
      return { ...unmatched, table, unknown }
    })
  }
  return [
    ...inTable('[tools]', { policy: config.tools?.policy ?? {}, pinned: config.tools?.pinned }, all),
    ...Object.entries(config.profiles ?? {}).flatMap(([profile, { pinned, ...policy }]) =>
      inTable(`[profile.${profile}]`, { policy, pinned }, all),
    ),
    ...names.flatMap((server) => {
      const { pinned, ...policy } = config.servers[server] ?? {}
      const isKnown = servers.tools(server) !== undefined
      return isKnown ? inTable(`[server.${server}]`, { policy, pinned }, toolsOf(servers, server)) : []
    }),
  ]
}

/** Says which pattern matches nothing, and what may be meant. */
export function describeUnmatched({ table, list, pattern, nearest, unknown }: UnmatchedInConfig): string {
  const reason = unknown.length > 0 ? ` (the tools of ${unknown.join(', ')} are not known yet)` : ''
  const step = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `${table} ${list}: "${pattern}" matches no tool${reason}${step}`
}

function toolsOf(servers: OpenedRegistry['servers'], server: string): readonly NamedTool[] {
  return (servers.tools(server) ?? []).map(({ name }) => ({
    name: mcpName(name, server),
    ownName: name,
    source: { kind: 'mcp', server },
  }))
}

/** Whether a pattern may name a tool of this server: it names this one, or no server. */
function mayBeOf(server: string, pattern: string, names: readonly string[]): boolean {
  const named = names.filter((name) =>
    [`mcp__${name}__`, `${name}__`, `${name}.`].some((start) => pattern.startsWith(start)),
  )
  return named.length === 0 || named.includes(server)
}

function nearestOf(pattern: string, tools: readonly NamedTool[]): string | undefined {
  const spelled = tools.map(({ name, ownName, source }) =>
    source.kind === 'mcp' ? `${source.server}.${ownName}` : name,
  )
  const bare = tools.map(({ ownName }) => ownName)
  return nearestName(pattern.replace(/^mcp__/, ''), spelled) ?? nearestName(pattern, bare)
}
