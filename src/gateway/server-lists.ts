import type { ConnectedServers } from 'toolcrib/mcp'
import type { ClientLine } from './client-line.ts'
import { isJson, type Json } from './json-rpc.ts'
import { type AwaitedList, LateLists, type Patience } from './late-lists.ts'
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

const PROMPTS_CHANGED = 'notifications/prompts/list_changed'
const RESOURCES_CHANGED = 'notifications/resources/list_changed'

const KINDS = {
  prompts: { method: 'prompts/list', capability: 'prompts', key: 'name', changed: PROMPTS_CHANGED },
  resources: { method: 'resources/list', capability: 'resources', key: 'uri', changed: RESOURCES_CHANGED },
  resourceTemplates: {
    method: 'resources/templates/list',
    capability: 'resources',
    key: 'uriTemplate',
    changed: RESOURCES_CHANGED,
  },
} as const

const MAX_PAGES = 100
const MAX_ITEMS = 10_000
/** How long a running server may take for one page. */
const TIMEOUT_MS = 10_000

/** Who reads a list: what it may see, and its connection, because its private connections may list something else. */
export interface ListReader {
  readonly view: Pick<ProfileView, 'permitsServer' | 'profile'>
  readonly line?: ClientLine | undefined
}

/** A list that a server returned. */
interface ReadList {
  /** Requests are numbered: a later request has a higher number. */
  readonly number: number
  readonly items: readonly Listed[]
}

type Lists = Readonly<Record<ListKind, Map<string, ReadList>>>

/** One list of one server, over the shared connection or over a session's. */
interface ListPlace {
  readonly kind: ListKind
  readonly server: string
  readonly sessionKey: string | undefined
  readonly line: ClientLine | undefined
}

/**
 * Prompts, resources and templates of all servers, requested in parallel. A session with a private connection to a
 * server gets what is listed over that one. If a server fails or is slow, its last list is used. Items with hidden
 * characters in their name or URI are left out.
 */
export class ServerLists {
  readonly #servers: Pick<ConnectedServers, 'status' | 'info' | 'request'>
  readonly #traffic: Pick<Traffic, 'connectionOf'>
  readonly #warn: (warning: string) => void
  readonly #late: LateLists
  #reads = 0
  /** The last lists over the shared connections, and over those of sessions. */
  readonly #shared = noLists()
  readonly #ofSessions = new Map<string, Lists>()
  readonly #refreshing = new Map<string, Promise<void>>()
  readonly #nextRefresh = new Map<string, Promise<void>>()

  constructor(
    servers: Pick<ConnectedServers, 'status' | 'info' | 'request'>,
    traffic: Pick<Traffic, 'connectionOf'>,
    warn: (warning: string) => void,
    patience: Patience,
  ) {
    this.#servers = servers
    this.#traffic = traffic
    this.#warn = warn
    this.#late = new LateLists(patience)
  }

  /**
   * What the servers list for a reader now, server by server. It waits a limited time for servers that start or are
   * slow.
   */
  async collect(kind: ListKind, { view, line }: ListReader): Promise<readonly Listed[]> {
    const lists = this.offering(kind, view).map(async (server) => {
      const place = await this.#placeOf(kind, server, line)
      await this.#late.read(this.#awaited(place))
      return this.#last(place)
    })
    return (await Promise.all(lists)).flat()
  }

  /**
   * Asks the servers of a reader again, to look for something unknown. Concurrent lookups share one answer, which is
   * never older than their question: a client can look up a thousand things with one request.
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
    const asked = Promise.all(
      kinds.flatMap((kind) =>
        this.offering(kind, reader.view).map(async (server) =>
          this.#read(await this.#placeOf(kind, server, reader.line)),
        ),
      ),
    )
    const refreshing = asked.then(() => void this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshing)
    return refreshing
  }

  /** What they last listed for a reader. */
  known(kind: ListKind, { view, line }: ListReader): readonly Listed[] {
    const own = line && this.#ofSessions.get(line.owner)?.[kind]
    const lists = own ? new Map([...this.#shared[kind], ...own]) : this.#shared[kind]
    const permitted = [...lists].filter(([server]) => view.permitsServer(server))
    return permitted.flatMap(([, { items }]) => items)
  }

  /** Forgets what was listed over the connections of a session that ended. */
  forget(owner: string): void {
    this.#ofSessions.delete(owner)
    this.#late.forget(owner)
  }

  /** The servers of a view that offer this. For a server that never ran this is unknown, so it is asked. */
  offering(kind: ListKind | 'completions', view: Pick<ProfileView, 'permitsServer'>): readonly string[] {
    const capability = kind === 'completions' ? kind : KINDS[kind].capability
    const permitted = this.#servers.status().filter(({ server }) => view.permitsServer(server))
    return permitted.flatMap(({ server, state }) => {
      const info = this.#servers.info(server)
      const isOffered = info ? info.capabilities[capability] !== undefined : state === 'connecting'
      return isOffered ? [server] : []
    })
  }

  async #placeOf(kind: ListKind, server: string, line: ClientLine | undefined): Promise<ListPlace> {
    return { kind, server, sessionKey: await this.#traffic.connectionOf(server, line), line }
  }

  #awaited(place: ListPlace): AwaitedList {
    const { kind, server, sessionKey, line } = place
    return {
      key: JSON.stringify([kind, server, sessionKey ?? null]),
      session: sessionKey === undefined ? undefined : line,
      notification: { server, sessionKey, method: KINDS[kind].changed },
      read: () => this.#read(place),
      known: () => this.#last(place),
    }
  }

  /** Stores what a server lists now, unless a later answer is already there. Resolves to false if it fails. */
  async #read(place: ListPlace): Promise<boolean> {
    const number = ++this.#reads
    const { items, isComplete } = await this.#ask(place)
    const { kind, server, sessionKey, line } = place
    const last = this.#lastRead(place)
    const isNewer = last === undefined || last.number < number
    if (!isNewer || (!isComplete && last && last.items.length > 0)) return isComplete
    if (sessionKey === undefined) this.#shared[kind].set(server, { number, items })
    else if (line && !line.signal.aborted) this.#listsOf(line)[kind].set(server, { number, items })
    return isComplete
  }

  #last(place: ListPlace): readonly Listed[] {
    return this.#lastRead(place)?.items ?? []
  }

  #lastRead({ kind, server, sessionKey, line }: ListPlace): ReadList | undefined {
    const lists = sessionKey === undefined ? this.#shared : line && this.#ofSessions.get(line.owner)
    return lists?.[kind].get(server)
  }

  #listsOf({ owner }: ClientLine): Lists {
    const lists = this.#ofSessions.get(owner) ?? noLists()
    this.#ofSessions.set(owner, lists)
    return lists
  }

  /** What a server lists now; if it fails, the pages before the failure. */
  async #ask({
    kind,
    server,
    sessionKey,
  }: ListPlace): Promise<{ items: readonly Listed[]; isComplete: boolean }> {
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
      return { items: found, isComplete: false }
    }
    return { items: found, isComplete: true }
  }
}

function noLists(): Lists {
  return { prompts: new Map(), resources: new Map(), resourceTemplates: new Map() }
}
