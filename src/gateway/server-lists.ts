import type { ConnectedServers } from 'toolcrib/mcp'
import type { Json } from './client-line.ts'
import type { ProfileView } from './profile-view.ts'
import { isJson } from './upstream.ts'
import { hidesText, visibleItem } from './visible-item.ts'

/** What servers list besides tools. */
export type ListKind = 'prompts' | 'resources' | 'resourceTemplates'

/** One prompt, resource or template, and the server that lists it. */
export interface Listed {
  readonly server: string
  /** Its name, URI or URI template. */
  readonly key: string
  /** As the server lists it, without hidden characters. */
  readonly item: Json
}

const KINDS = {
  prompts: { method: 'prompts/list', capability: 'prompts', key: 'name' },
  resources: { method: 'resources/list', capability: 'resources', key: 'uri' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', key: 'uriTemplate' },
} as const

const MAX_PAGES = 100
const MAX_ITEMS = 10_000
/** A server that takes longer is left out of the list; it delays no other. */
const TIMEOUT_MS = 10_000

/**
 * Prompts, resources and templates of all servers, asked for at once. One whose name or URI has hidden characters is left
 * out.
 */
export class ServerLists {
  readonly #servers: ConnectedServers
  readonly #warn: (warning: string) => void
  readonly #last: Record<ListKind, Map<string, readonly Listed[]>> = {
    prompts: new Map(),
    resources: new Map(),
    resourceTemplates: new Map(),
  }
  readonly #refreshing = new Map<string, Promise<void>>()
  readonly #nextRefresh = new Map<string, Promise<void>>()

  constructor(servers: ConnectedServers, warn: (warning: string) => void) {
    this.#servers = servers
    this.#warn = warn
  }

  /** What the servers of a view list now, server by server. One that fails or is too slow is left out. */
  async collect(kind: ListKind, view: ProfileView): Promise<readonly Listed[]> {
    const servers = this.offering(kind, view)
    const lists = await Promise.all(servers.map((server) => this.#ask(kind, server)))
    return lists.flat()
  }

  /**
   * Asks the servers of a view again, to look for something that is not known. Those who look at the same time share one
   * answer, which is never older than their question: a client can look for a thousand things with one request.
   */
  refresh(kinds: readonly ListKind[], view: ProfileView): Promise<void> {
    const key = JSON.stringify([kinds, view.profile ?? null])
    const running = this.#refreshing.get(key)
    if (!running) return this.#refresh(key, kinds, view)
    const next = this.#nextRefresh.get(key) ?? running.then(() => this.#refresh(key, kinds, view))
    this.#nextRefresh.set(key, next)
    return next
  }

  #refresh(key: string, kinds: readonly ListKind[], view: ProfileView): Promise<void> {
    this.#nextRefresh.delete(key)
    const asked = Promise.all(kinds.map((kind) => this.collect(kind, view)))
    const refreshing = asked.then(() => void this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshing)
    return refreshing
  }

  /** What they listed the last time they were asked. */
  known(kind: ListKind, view: ProfileView): readonly Listed[] {
    const known = [...this.#last[kind]].filter(([server]) => view.permitsServer(server))
    return known.flatMap(([, list]) => list)
  }

  /** The servers of a view that offer this. Of a server that never ran this is not known, so it is asked. */
  offering(kind: ListKind | 'completions', view: ProfileView): readonly string[] {
    const capability = kind === 'completions' ? kind : KINDS[kind].capability
    const permitted = this.#servers.status().filter(({ server }) => view.permitsServer(server))
    return permitted.flatMap(({ server, state }) => {
      const info = this.#servers.info(server)
      const isOffered = info ? info.capabilities[capability] !== undefined : state === 'connecting'
      return isOffered ? [server] : []
    })
  }

  async #ask(kind: ListKind, server: string): Promise<readonly Listed[]> {
    const { method, key } = KINDS[kind]
    const found: Listed[] = []
    try {
      let cursor: string | undefined
      for (let page = 0; page < MAX_PAGES && found.length < MAX_ITEMS; page++) {
        const params = cursor === undefined ? {} : { cursor }
        const answer: Json = await this.#servers.request(
          server,
          { method, params },
          { timeoutMs: TIMEOUT_MS },
        )
        const items = Array.isArray(answer[kind]) ? answer[kind].filter(isJson) : []
        for (const item of items) {
          const own = item[key]
          if (typeof own === 'string' && !hidesText(own))
            found.push({ server, key: own, item: visibleItem(item) })
        }
        cursor = typeof answer.nextCursor === 'string' ? answer.nextCursor : undefined
        if (cursor === undefined) break
      }
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : `server "${server}" did not answer ${method}`)
    }
    this.#last[kind].set(server, found)
    return found
  }
}
