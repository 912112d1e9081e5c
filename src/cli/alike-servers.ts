import type { Finding } from 'toolcrib/mcp'

/** Servers whose tools read the same, word for word: often the same program, set up twice. */
export interface AlikeServers {
  /** Two or more, by name. */
  readonly servers: readonly string[]
  /** How many of their tools are alike. */
  readonly tools: number
}

/** Whether a finding only says that a tool is like one of another server; there is one for every tool of such a server. */
export function isAlike({ kind, severity }: Finding): boolean {
  return kind === 'clone' && severity === 'low'
}

/** The server that has the same tool, as the finding says. */
export function originalOf({ message }: Finding): string {
  return /of server "(.*)"$/.exec(message)?.[1] ?? '?'
}

/**
 * Groups the servers of such findings, by name: the same groups whichever server answered first. Other findings are
 * ignored.
 */
export function alikeServers(findings: readonly Finding[]): AlikeServers[] {
  const groups = new Map<string, Set<string>>()
  const tools = new Map<string, number>()
  for (const finding of findings.filter(isAlike)) {
    const [server, original] = [finding.server, originalOf(finding)]
    tools.set(server, (tools.get(server) ?? 0) + 1)
    const joined = new Set([server, ...(groups.get(server) ?? []), original, ...(groups.get(original) ?? [])])
    for (const each of joined) groups.set(each, joined)
  }
  return [...new Set(groups.values())]
    .map((group) => [...group].sort())
    .sort((a, b) => (a.join() < b.join() ? -1 : 1))
    .map((servers) => ({ servers, tools: Math.max(...servers.map((server) => tools.get(server) ?? 0)) }))
}
