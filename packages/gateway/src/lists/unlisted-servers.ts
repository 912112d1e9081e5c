import type { ConnectedServers } from '@toolcrib/mcp'
import type { Limits } from '../gateway-options.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { prefixedName, withWireCharacters } from './tool-names.ts'

/** As long as a server may take to start, unless its config says otherwise. */
const CALL_WAIT_MS = 30_000

type ServerFilter = Pick<ProfileView, 'permitsServer'>

const EVERY_SERVER: ServerFilter = { permitsServer: () => true }

interface UnlistedServer {
  readonly server: string
  /** Why it could not be started; undefined while it starts. */
  readonly failure: string | undefined
  /** Why starting takes long. */
  readonly detail?: string | undefined
}

/** The servers whose tools are not known yet: they have never run, or their cached list is not loaded yet. */
export class UnlistedServers {
  readonly #servers: Pick<ConnectedServers, 'status' | 'tools' | 'ready'>
  readonly #limits: Pick<Limits, 'listWaitMs'>
  /** Starting servers that a list has given up waiting for: a hanging server must not delay every list. */
  readonly #slow = new Set<string>()

  constructor(
    servers: Pick<ConnectedServers, 'status' | 'tools' | 'ready'>,
    limits: Pick<Limits, 'listWaitMs'>,
  ) {
    this.#servers = servers
    this.#limits = limits
  }

  /** Waits a limited time, once, for each unlisted server of a view; all others are listed from the cache. */
  async beforeList(view: ServerFilter): Promise<void> {
    const starting = this.#startingOf(EVERY_SERVER)
    for (const server of this.#slow) if (!starting.includes(server)) this.#slow.delete(server)
    const servers = this.#startingOf(view).filter((server) => !this.#slow.has(server))
    if (servers.length === 0) return
    await this.#servers.ready({ servers, timeoutMs: this.#limits.listWaitMs })
    for (const server of this.#startingOf(view)) if (servers.includes(server)) this.#slow.add(server)
  }

  /** A server is listed, or no longer starts. When it starts again, a list waits for it again. */
  settled(server: string): void {
    this.#slow.delete(server)
  }

  /** Whether a tool of this name may belong to such a server. */
  mayHave(name: string, view: ServerFilter): boolean {
    return this.#ownersOf(name, view).length > 0
  }

  /**
   * Waits for the server that an unknown name belongs to: a client may call what it listed at another replica or before
   * a restart. If the name does not identify a server, all of them are awaited, for a shorter time.
   */
  async beforeCall(name: string, view: ServerFilter, signal: AbortSignal): Promise<void> {
    const starting = this.#ownersOf(name, view).filter(({ failure }) => failure === undefined)
    if (starting.length === 0 || signal.aborted) return
    const servers = starting.map(({ server }) => server)
    const timeoutMs = servers.some((server) => isOf(name, server)) ? CALL_WAIT_MS : this.#limits.listWaitMs
    let stop = () => {}
    const aborted = new Promise<void>((resolve) => {
      stop = resolve
      signal.addEventListener('abort', stop, { once: true })
    })
    await Promise.race([this.#servers.ready({ servers, timeoutMs }), aborted])
    signal.removeEventListener('abort', stop)
  }

  /** Why it is unknown whether there is a tool of this name; undefined if there certainly is none. */
  doubtAbout(name: string, view: ServerFilter): string | undefined {
    const owners = this.#ownersOf(name, view)
    const starting = owners.filter(({ failure }) => failure === undefined).map(withDetail)
    const shown = `"${name.slice(0, 200)}"`
    if (starting.length > 0)
      return `${shown} is not known yet: ${starting.join(', ')} ${starting.length === 1 ? 'is' : 'are'} still starting. Call it again in a moment. Nothing was run.`
    const failed = owners.find(({ server }) => isOf(name, server))
    return failed && `${shown} is not available: server "${failed.server}" failed: ${failed.failure}`
  }

  /** The servers that a name may belong to: those it begins with, or all of them. */
  #ownersOf(name: string, view: ServerFilter): readonly UnlistedServer[] {
    const unlisted = this.#of(view)
    const named = unlisted.filter(({ server }) => isOf(name, server))
    if (named.length > 0) return named
    const isOfOther = this.#servers.status().some(({ server }) => isOf(name, server))
    return isOfOther ? [] : unlisted
  }

  #startingOf(view: ServerFilter): readonly string[] {
    return this.#of(view).flatMap(({ server, failure }) => (failure === undefined ? [server] : []))
  }

  #of(view: ServerFilter): readonly UnlistedServer[] {
    return this.#servers.status().flatMap((status): readonly UnlistedServer[] => {
      const { server } = status
      if (!view.permitsServer(server) || this.#servers.tools(server) !== undefined) return []
      if (status.state === 'connecting') return [{ server, failure: undefined, detail: status.detail }]
      return status.state === 'failed' ? [{ server, failure: status.reason }] : []
    })
  }
}

function withDetail({ server, detail }: UnlistedServer): string {
  return `"${server}"${detail === undefined ? '' : ` (${detail})`}`
}

/** Whether a name contains this server's: `github__search`, `mcp__github__search`. */
function isOf(name: string, server: string): boolean {
  const prefix = withWireCharacters(prefixedName(server, ''))
  return name.startsWith(prefix) || name.startsWith(`mcp__${prefix}`)
}
