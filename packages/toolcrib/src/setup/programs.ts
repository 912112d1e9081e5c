import {
  type ClientPlace,
  ClientProfiles,
  type ConnectableClient,
  connectableClients,
} from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { columns, figure, plain, plural } from '../terminal/text.ts'
import type { ServerCheck } from './check-servers.ts'

/** A program of the user, and the servers of the config that it has itself, or uses through the gateway. */
export interface Program {
  readonly client: ConnectableClient
  readonly servers: readonly string[]
  /** true: it had none of them, so it gets all. */
  readonly isEmpty: boolean
}

/** The programs on this machine whose config belongs only to the user, and is not of another gateway. */
export async function findPrograms(config: string, place: ClientPlace): Promise<readonly Program[]> {
  const profiles = await ClientProfiles.open(config, place)
  const clients = (await connectableClients(place)).filter(
    ({ isThere, isOfProject, problem }) => isThere && !isOfProject && !problem,
  )
  const programs: Program[] = []
  for (const client of clients) {
    if (client.isConnected && client.gateway !== config) continue
    const { servers } = await profiles.of(client)
    const isEmpty = !client.isConnected && client.servers.length === 0
    programs.push({ client, servers, isEmpty })
  }
  return programs
}

/** Programs that show their user a server's question: elicitation in forms. */
const ASKING: ReadonlySet<string> = new Set([
  'claude-code',
  'codex',
  'cursor',
  'vscode',
  'vscode-insiders',
  'vscodium',
])

export function canAsk({ client }: Pick<ConnectableClient, 'client'>): boolean {
  return ASKING.has(client)
}

/** The sets of servers to count, by program. */
export function serverSets(programs: readonly Program[]): ReadonlyMap<string, readonly string[]> {
  return new Map(programs.map(({ client, servers }) => [client.client, servers]))
}

/** What each program sees once it is connected: `Cursor  files, github`. */
export function describeViews(programs: readonly Program[], all: number): string[] {
  const rows = programs.map(({ client, servers, isEmpty }) => {
    const names = servers.map(plain).join(', ')
    return [`  ${pc.bold(client.title)}`, isEmpty ? `all ${plural(all, 'server')}: it had none` : names]
  })
  return columns(rows)
}

/**
 * What the tool definitions of each program's servers cost with every request, and what they cost through the gateway:
 * `Cursor  6 servers  77,000 → 690 tokens`. Servers that are not ready cannot be counted.
 */
export function describeFigures(
  programs: readonly Program[],
  check: ServerCheck,
  isEverything: boolean,
): string[] {
  const rows = programs.map(({ client, servers, isEmpty }) => {
    const counted = servers.filter((name) => check.tokens.has(name))
    const before = isEmpty ? 0 : counted.reduce((sum, name) => sum + (check.tokens.get(name) ?? 0), 0)
    const own = check.gatewayOf.get(client.client) ?? check.gateway
    const { tokens: after } = isEverything && !client.isConnected ? check.gateway : own
    const left = servers.length - counted.length
    return [
      `  ${pc.bold(plain(client.title))}`,
      isEmpty ? 'no server' : plural(servers.length, 'server'),
      figure(before),
      `→ ${pc.green(figure(after))} tokens${left > 0 && !isEmpty ? pc.dim(` (without ${left} that ${left === 1 ? 'is' : 'are'} not ready)`) : ''}`,
    ]
  })
  return columns(rows, { rightAligned: [1, 2] })
}
