import type { ConnectedServers, ListKind } from '@toolcrib/mcp'
import type { ClientLine } from '../asks/client-line.ts'
import type { Traffic } from '../asks/traffic.ts'
import type { Json } from '../json-rpc.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { type AwaitedList, LateLists, type Patience } from './late-lists.ts'
import { visibleItem } from './visible-item.ts'

export type { ListKind }

/** One prompt, resource or template, and the server that lists it. */
export interface Listed {
  readonly server: string
  /** Its name, URI or URI template. */
  readonly key: string
  /** As the server lists it, without hidden characters. */
  readonly item: Json
}

const KINDS = {
  prompts: { capability: 'prompts', changed: 'notifications/prompts/list_changed' },
  resources: { capability: 'resources', changed: 'notifications/resources/list_changed' },
  resourceTemplates: { capability: 'resources', changed: 'notifications/resources/list_changed' },
} as const

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
interface ListSource {
  readonly kind: ListKind
  readonly server: string
  readonly sessionKey: string | undefined
  readonly line: ClientLine | undefined
}

/**
 * Prompts, resources and templates of all servers, requested in parallel. A session with a private connection to a
 * server gets what is listed over that one. If a server fails or is slow, its last list is used. What the
 * lockfile holds back is left out.
 */
export class ServerLists {
  readonly #servers: Pick<ConnectedServers, 'status' | 'info' | 'list'>
  readonly #traffic: Pick<Traffic, 'connectionOf' | 'hold'>
  readonly #warn: (warning: string) => void
  readonly #late: LateLists
  #reads = 0
  /** The last lists over the shared connections, and over those of sessions. */
  readonly #shared = noLists()
  readonly #ofSessions = new Map<string, Lists>()
  readonly #refreshing = new Map<string, Promise<void>>()
  readonly #nextRefresh = new Map<string, Promise<void>>()
  readonly #readingFirst = new Map<string, Promise<void>>()

  constructor(
    servers: Pick<ConnectedServers, 'status' | 'info' | 'list'>,
    traffic: Pick<Traffic, 'connectionOf' | 'hold'>,
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
   * Reads the lists that were never read, as `collect` does: what they contain decides whose a resource is. Resolves to
   * true if all of them are new.
   */
  async ensure(kinds: readonly ListKind[], { view, line }: ListReader): Promise<boolean> {
    const places = await Promise.all(
      kinds.flatMap((kind) => this.offering(kind, view).map((server) => this.#placeOf(kind, server, line))),
    )
    const unread = places.filter((place) => !this.#lastRead(place))
    await Promise.all(unread.map((place) => this.#readFirst(this.#awaited(place))))
    return unread.length === places.length && unread.every((place) => this.#lastRead(place))
  }

  /** Concurrent lookups share one reading. */
  #readFirst(list: AwaitedList): Promise<void> {
    const reading = this.#readingFirst.get(list.key) ?? this.#late.read(list)
    this.#readingFirst.set(list.key, reading)
    return reading.finally(() => this.#readingFirst.delete(list.key))
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

  async #placeOf(kind: ListKind, server: string, line: ClientLine | undefined): Promise<ListSource> {
    return { kind, server, sessionKey: await this.#traffic.connectionOf(server, line), line }
  }

  #awaited(place: ListSource): AwaitedList {
    const { kind, server, sessionKey, line } = place
    return {
      key: JSON.stringify([kind, server, sessionKey === undefined ? null : line?.owner]),
      session: sessionKey === undefined ? undefined : line,
      notification: { server, sessionKey, method: KINDS[kind].changed },
      read: () => this.#read(place),
      known: () => this.#last(place),
    }
  }

  /** Stores what a server lists now, unless a later answer is already there. Resolves to false if it fails. */
  async #read(place: ListSource): Promise<boolean> {
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

  #last(place: ListSource): readonly Listed[] {
    return this.#lastRead(place)?.items ?? []
  }

  #lastRead({ kind, server, sessionKey, line }: ListSource): ReadList | undefined {
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
  }: ListSource): Promise<{ items: readonly Listed[]; isComplete: boolean }> {
    const release = this.#traffic.hold(sessionKey)
    try {
      const list = await this.#servers.list(server, kind, { timeoutMs: TIMEOUT_MS, sessionKey })
      const shown = list.items.filter(({ heldBecause }) => heldBecause === undefined)
      const items = shown.map(({ key, listed }) => ({ server, key, item: visibleItem(listed) }))
      if (list.failure !== undefined) this.#warnOf(list.failure, server, kind)
      return { items, isComplete: list.failure === undefined }
    } catch (error) {
      this.#warnOf(error, server, kind)
      return { items: [], isComplete: false }
    } finally {
      release()
    }
  }

  #warnOf(error: unknown, server: string, kind: ListKind): void {
    this.#warn(error instanceof Error ? error.message : `server "${server}" did not list its ${kind}`)
  }
}

function noLists(): Lists {
  return { prompts: new Map(), resources: new Map(), resourceTemplates: new Map() }
}
