import { type ServerStatus, ToolcribError, type ToolRegistry, type ToolSchema } from '@toolcrib/core'
import { describeFailed } from '../servers/mend-server.ts'
import { plain, shellWord, toolName } from '../terminal/text.ts'

/** The servers that a name begins with: none when it is only the name of a tool. */
export function serversNamed(name: string, servers: readonly string[]): readonly string[] {
  return servers.filter((server) => prefixes(server).some((prefix) => name.startsWith(prefix)))
}

/** The spellings of a tool with its server: people's, the gateway's and the registry's. */
function prefixes(server: string): string[] {
  return [`${server}.`, `${server}__`, `mcp__${server}__`]
}

/** The tool that a name means, as the gateway reads it. Throws `name-invalid` when several servers have it. */
export function findTool(registry: ToolRegistry, name: string): ToolSchema | undefined {
  const meant = registry.resolve(name)
  const fitting = registry.listSchemas().filter((schema) => meant.includes(schema.name))
  if (fitting.length < 2) return fitting[0]
  const names = fitting.map((schema) => {
    const { state } = registry.explain(schema.name)
    const held = state === 'quarantined' || state === 'denied' ? ` (${state})` : ''
    return `${toolName(schema.name, schema.mcpServer)}${held}`
  })
  throw new ToolcribError(
    'name-invalid',
    `"${name}" is the name of several tools: ${names.join(', ')}; call one of these`,
  )
}

/** Why there is no tool of that name, and what to do next. */
export function describeUnknown(
  name: string,
  registry: ToolRegistry,
  statuses: readonly ServerStatus[],
): string {
  if (statuses.length === 0 && registry.size === 0) {
    const step = 'run "toolcrib" to set them up'
    return `"${name}" cannot be called: no servers are configured; ${step}`
  }
  const missing = statuses.filter(({ state }) => state === 'failed' || state === 'connecting')
  if (missing.length > 0 && missing.length === statuses.length)
    return [`"${name}" cannot be called`, ...missing.map(describeMissing)].join('\n')
  const [first] = statuses
  if (statuses.some(({ server }) => server === name))
    return `"${name}" is a server, not a tool; see its tools with "toolcrib list ${shellWord(name)}"`
  const near = nearNames(name, registry)
  const look =
    statuses.length === 1 && first
      ? `see the tools of ${plain(first.server)} with "toolcrib list ${shellWord(first.server)}"`
      : 'find its name with "toolcrib search <words>" or "toolcrib list"'
  const step = near.length > 0 ? `did you mean ${near.map((each) => `"${each}"`).join(' or ')}?` : look
  const isCached = statuses.some(({ state }) => state === 'cold')
  return [
    `unknown tool "${name}"; ${step}`,
    ...(isCached ? ['if it is new, ask the servers again with "toolcrib list --refresh"'] : []),
    ...describeSeveral(missing),
  ].join('\n')
}

/** More lines than this hide the first one, so the servers share one. */
const MANY = 2

function describeSeveral(missing: readonly ServerStatus[]): string[] {
  if (missing.length <= MANY) return missing.map(describeMissing)
  const names = missing.map(({ server }) => plain(server)).join(', ')
  return [`servers without an answer: ${names}; see why with "toolcrib doctor"`]
}

function describeMissing(status: ServerStatus): string {
  if (status.state === 'failed') return `server "${status.server}" ${describeFailed(status.reason)}`
  const { detail = 'connecting' } = { detail: undefined, ...status }
  return `server "${status.server}" is still ${detail}; increase --timeout`
}

/** Tools with a similar name, as people write them. */
function nearNames(name: string, registry: ToolRegistry): string[] {
  const { reason } = registry.explain(name)
  const words = new Set(reason.split(/[\s,]+/))
  const near = registry.listSchemas().filter((schema) => words.has(schema.name))
  return near.map((schema) => toolName(schema.name, schema.mcpServer))
}
