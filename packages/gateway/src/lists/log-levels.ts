import type { ConnectedServers } from '@toolcrib/mcp'
import type { ProfileView } from '../sessions/profile-view.ts'

/** The levels of log messages, the least severe first. */
export const LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** Whether a message of this level is at least as severe as the client wants; without a wanted level, all are. */
export function isLoud(level: unknown, wanted: string | undefined): boolean {
  return wanted === undefined || LEVELS.indexOf(String(level)) >= LEVELS.indexOf(wanted)
}

/**
 * The log levels requested from older servers. Clients share the connection to a server, so the server is asked for the
 * least severe level that any of them wants, and each client gets the messages it wants. Modern servers get the level
 * with each request.
 */
export class LogLevels {
  readonly #servers: ConnectedServers
  readonly #wanted = new Map<string, { readonly view: ProfileView; readonly level: string }>()
  readonly #asked = new Map<string, string>()

  constructor(servers: ConnectedServers) {
    this.#servers = servers
  }

  /** Sets the level that a client wants, and requests it from running servers. */
  want(client: string, view: ProfileView, level: string): void {
    this.#wanted.set(client, { view, level })
    for (const { server, state } of this.#servers.status()) if (state === 'ready') this.#ask(server)
  }

  /** Forgets a client that has gone. */
  forget(client: string): void {
    this.#wanted.delete(client)
  }

  /** Requests the level from a server that has just started. */
  started(server: string): void {
    this.#asked.delete(server)
    this.#ask(server)
  }

  #ask(server: string): void {
    const { era, capabilities } = this.#servers.info(server) ?? {}
    if (era !== 'legacy' || capabilities?.logging === undefined) return
    const levels = [...this.#wanted.values()]
      .filter(({ view }) => view.permitsServer(server))
      .map(({ level }) => LEVELS.indexOf(level))
    const level = levels.length === 0 ? undefined : LEVELS[Math.min(...levels)]
    if (level === undefined || this.#asked.get(server) === level) return
    this.#asked.set(server, level)
    this.#servers.request(server, { method: 'logging/setLevel', params: { level } }).catch(() => {})
  }
}
