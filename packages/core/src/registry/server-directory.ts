import type { ServerNeed } from '../events.ts'
import type { CompiledPolicy } from './policy.ts'

/** The state of one MCP server. */
export type ServerStatus =
  | { readonly server: string; readonly state: 'cold' | 'ready' }
  | {
      readonly server: string
      readonly state: 'connecting'
      /** What takes long: `downloading with npx, 40 s`. */
      readonly detail?: string
    }
  | {
      readonly server: string
      readonly state: 'failed'
      readonly reason: string
      /** What it waits for; absent if it could not be started or reached, or its connection ended. */
      readonly needs?: ServerNeed
    }

/** The connected servers, as the registry sees them. Implemented by `ServerHub`. */
export interface ServerDirectory {
  statuses(): readonly ServerStatus[]
  /** Resolves once none of the servers (default: all) is connecting, or the time is up; never rejects. */
  settled(options: { readonly servers?: readonly string[]; readonly timeoutMs: number }): Promise<void>
}

/**
 * Returns the servers that may be the reason for an unknown name, since they failed or are still connecting: the one that
 * the name begins with; if no server has any tools, all of them.
 */
export function missingServersOf(
  name: string,
  statuses: readonly ServerStatus[],
  hasTools: boolean,
): readonly ServerStatus[] {
  const missing = statuses.filter(({ state }) => state === 'failed' || state === 'connecting')
  const isOf = (server: string) =>
    [`mcp__${server}__`, `${server}__`, `${server}.`].some((prefix) => name.startsWith(prefix))
  const owners = missing.filter(({ server }) => isOf(server))
  return owners.length > 0 || hasTools ? owners : missing
}

/** Whether a server's tools are not there yet. A cold server's are: it starts with its first call. */
export function isAwaited({ state }: ServerStatus): boolean {
  return state !== 'ready' && state !== 'cold'
}

/** The servers of a directory that a policy permits. The others stay invisible, even their names. */
export class PermittedServers implements ServerDirectory {
  readonly #directory: ServerDirectory
  readonly #policy: Pick<CompiledPolicy, 'permitsServer'>

  constructor(directory: ServerDirectory, policy: Pick<CompiledPolicy, 'permitsServer'>) {
    this.#directory = directory
    this.#policy = policy
  }

  statuses(): readonly ServerStatus[] {
    return this.#directory.statuses().filter(({ server }) => this.#policy.permitsServer(server))
  }

  async settled({
    servers,
    timeoutMs,
  }: {
    readonly servers?: readonly string[]
    readonly timeoutMs: number
  }): Promise<void> {
    const permitted = this.statuses().map(({ server }) => server)
    const awaited = servers ? permitted.filter((server) => servers.includes(server)) : permitted
    if (awaited.length > 0) await this.#directory.settled({ servers: awaited, timeoutMs })
  }
}
