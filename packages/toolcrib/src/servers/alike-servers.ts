import type { Finding, ObservedServer } from '@toolcrib/mcp'

/** Servers with identical tools, word for word: often the same program, set up twice. */
export interface AlikeServers {
  /** Two or more, by name. */
  readonly servers: readonly string[]
  /** How many tools each of them has in common with each of the others. */
  readonly tools: number
}

/** A finding that a tool equals one of another server; there is one for every tool of such a server. */
export type AlikeFinding = Finding & Required<Pick<Finding, 'original'>>

export function isAlike(finding: Finding): finding is AlikeFinding {
  return finding.kind === 'clone' && finding.severity === 'low' && finding.original !== undefined
}

/**
 * Groups the servers of such findings by the tools that all of a group have. The groups do not depend on which server
 * answered first. A server can be in several groups. Other findings are ignored. Short descriptions cause no finding,
 * so tools with the same name and description are counted in the servers' lists.
 */
export function alikeServers(
  findings: readonly Finding[],
  observed: ReadonlyMap<string, Pick<ObservedServer, 'tools'>>,
): AlikeServers[] {
  const owners = ownersOfTools(findings.filter(isAlike))
  const groups = new Map(owners.map((servers) => [JSON.stringify([...servers].sort()), servers]))
  return [...groups.values()]
    .map((group) => {
      const servers = [...group].sort()
      const found = owners.filter((each) => servers.every((server) => each.has(server))).length
      return { servers, tools: Math.max(found, equalTools(servers, observed)) }
    })
    .sort((a, b) => (a.servers.join() < b.servers.join() ? -1 : 1))
}

/** How many tools all of these servers list under the same name, with the same description. */
function equalTools(
  servers: readonly string[],
  observed: ReadonlyMap<string, Pick<ObservedServer, 'tools'>>,
): number {
  const [first, ...others] = servers.map((server) => {
    const tools = observed.get(server)?.tools ?? []
    return new Set(tools.map(({ name, description }) => JSON.stringify([name, description])))
  })
  return [...(first ?? [])].filter((tool) => others.every((other) => other.has(tool))).length
}

interface SameTool {
  readonly tools: Set<string>
  readonly servers: Set<string>
}

/** The servers of each tool that several servers have. A finding names only one of the others. */
function ownersOfTools(findings: readonly AlikeFinding[]): ReadonlySet<string>[] {
  const known = new Map<string, SameTool>()
  const find = (server: string, tool: string): SameTool => {
    const key = JSON.stringify([server, tool])
    const same = known.get(key) ?? { tools: new Set([key]), servers: new Set([server]) }
    known.set(key, same)
    return same
  }
  for (const { server, tool, original } of findings) {
    const [own, other] = [find(server, tool), find(original.server, original.tool)]
    if (own === other) continue
    // Merges the smaller into the larger: a server can list thousands of equal tools.
    const [kept, moved] = own.tools.size < other.tools.size ? [other, own] : [own, other]
    for (const each of moved.tools) {
      kept.tools.add(each)
      known.set(each, kept)
    }
    for (const each of moved.servers) kept.servers.add(each)
  }
  return [...new Set(known.values())].map(({ servers }) => servers)
}
