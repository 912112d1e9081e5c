import type { ConnectedServers } from 'toolcrib/mcp'
import type { ClientLine } from './client-line.ts'
import { isJson, type Json } from './json-rpc.ts'
import type { ProfileView } from './profile-view.ts'
import type { Traffic } from './traffic.ts'
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

/** Who looks at a list: what it may see, and the way to it, where its own connections may list something else. */
export interface ListReader {
  readonly view: ProfileView
  readonly line?: ClientLine | undefined
}

type Lists = Readonly<Record<ListKind, Map<string, readonly Listed[]>>>

/**
 * Prompts, resources and templates of all servers, asked for at once. A session that has a connection of its own to a
 * server gets what is listed over that one. Whatever has hidden characters in its name or URI is left out.
 */
export class ServerLists {
  readonly #servers: ConnectedServers
  readonly #traffic: Pick<Traffic, 'connectionOf'>
  readonly #warn: (warning: string) => void
  /** What was listed last over the shared connections, and over those of sessions. */
  readonly #shared = noLists()
  readonly #ofSessions = new Map<string, Lists>()
  readonly #refreshing = new Map<string, Promise<void>>()
  readonly #nextRefresh = new Map<string, Promise<void>>()

  constructor(
    servers: ConnectedServers,
    traffic: Pick<Traffic, 'connectionOf'>,
    warn: (warning: string) => void,
  ) {
    this.#servers = servers
    this.#traffic = traffic
    this.#warn = warn
  }

  /** What the servers list for a reader now, server by server. One that fails or is too slow is left out. */
  async collect(kind: ListKind, reader: ListReader): Promise<readonly Listed[]> {
    const servers = this.offering(kind, reader.view)
    const lists = await Promise.all(servers.map((server) => this.#read(kind, server, reader.line)))
    return lists.flat()
  }

  /**
   * Asks the servers of a reader again, to look for something that is not known. Those who look at the same time share
   * one answer, which is never older than their question: a client can look for a thousand things with one request.
   */
  refresh(kinds: readonly ListKind[], reader: ListReader): Promise<void> {
    const session = reader.line && this.#ofSessions.has(reader.line.owner) ? reader.line.owner : null
    const key = JSON.stringify([kinds, reader.view.profile ?? null, session])
    const running = this.#refreshing.get(key)
    if (!running) return this.#refresh(key, kinds, reader)
    const next = this.#nextRefresh.get(key) ?? running.then(() => this.#refresh(key, kinds, reader))
    this.#nextRefresh.set(key, next)
    return next
  }

  #refresh(key: string, kinds: readonly ListKind[], reader: ListReader): Promise<void> {
    this.#nextRefresh.delete(key)
    const asked = Promise.all(kinds.map((kind) => this.collect(kind, reader)))
    const refreshing = asked.then(() => void this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshing)
    return refreshing
  }

  /** What they listed for a reader the last time they were asked. */
  known(kind: ListKind, { view, line }: ListReader): readonly Listed[] {
    const own = line && this.#ofSessions.get(line.owner)?.[kind]
    const lists = own ? new Map([...this.#shared[kind], ...own]) : this.#shared[kind]
    const permitted = [...lists].filter(([server]) => view.permitsServer(server))
    return permitted.flatMap(([, list]) => list)
  }

  /** Forgets what was listed over the connections of a session that ended. */
  forget(owner: string): void {
    this.#ofSessions.delete(owner)
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

  async #read(kind: ListKind, server: string, line: ClientLine | undefined): Promise<readonly Listed[]> {
    const sessionKey = await this.#traffic.connectionOf(server, line)
    const found = await this.#ask(kind, server, sessionKey)
    if (sessionKey === undefined) this.#shared[kind].set(server, found)
    else if (line && !line.signal.aborted) this.#listsOf(line)[kind].set(server, found)
    return found
  }

  #listsOf({ owner }: ClientLine): Lists {
    const lists = this.#ofSessions.get(owner) ?? noLists()
    this.#ofSessions.set(owner, lists)
    return lists
  }

  async #ask(kind: ListKind, server: string, sessionKey: string | undefined): Promise<readonly Listed[]> {
    const { method, key } = KINDS[kind]
    const found: Listed[] = []
    try {
      let cursor: string | undefined
      for (let page = 0; page < MAX_PAGES && found.length < MAX_ITEMS; page++) {
        const params = cursor === undefined ? {} : { cursor }
        const limits = { timeoutMs: TIMEOUT_MS, sessionKey }
        const answer: Json = await this.#servers.request(server, { method, params }, limits)
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
    return found
  }
}

function noLists(): Lists {
  return { prompts: new Map(), resources: new Map(), resourceTemplates: new Map() }
}
