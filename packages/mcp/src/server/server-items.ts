import { isDeepStrictEqual } from 'node:util'
import type { Finding } from '@toolcrib/core'
import { isRecord } from '@toolcrib/core/internal'
import type { RawRequest } from '../connect-options.ts'
import type { Connection, ServerInfo } from '../connection/connection.ts'
import type { RequestOptions } from '../connection/requests.ts'
import type { ClientOptions } from '../connection/server-messages.ts'
import {
  fitsTemplate,
  ITEM_LISTS,
  type ItemKind,
  instructionItems,
  LIST_KINDS,
  type ListKind,
  listItems,
  type ServerItem,
} from '../listed/server-item.ts'
import type { LockGuard } from '../lock/lock-guard.ts'
import type { ServerScans } from '../scan/server-scans.ts'
import type { ServerState } from './server-state.ts'

/** How long a server may take for one page of a list. */
const PAGE_MS = 10_000
/** How long a list counts as current when a resource is read or the server is observed: it may be long. */
const CURRENT_MS = 30_000

/** A prompt, resource or template as a server lists it now. */
export interface CheckedItem extends ServerItem {
  /** Why the lockfile holds it back; absent if it may be shown and used. */
  readonly heldBecause?: string
}

/** A list as a server returned it. */
export interface ItemList {
  readonly items: readonly CheckedItem[]
  /** Why the list ends early: the server failed to send the rest. */
  readonly failure?: unknown
}

/** A connection to read lists from. */
export interface ItemsLink {
  readonly connection: Connection
  /** false for a session's private connection. */
  readonly isShared: boolean
}

/** Limits of each page of a list. */
type ItemLimits = Omit<RequestOptions, 'timeoutMs'> & { readonly timeoutMs?: number | undefined }

/** What approves and scans items, and who is told that a lockfile changed what may be shown. */
export interface ServerItemsOptions {
  readonly guard: LockGuard
  readonly scans: ServerScans
  readonly client: Pick<ClientOptions, 'onNotification'>
  readonly now: () => number
}

/** What one server offers besides tools: read from the server, scanned, and checked against the lockfile. */
export class ServerItems {
  readonly #state: ServerState
  readonly #options: ServerItemsOptions
  /** The last complete lists over each connection. */
  readonly #known = new WeakMap<Connection, Map<ListKind, KnownList>>()
  readonly #reading = new WeakMap<Connection, Map<ListKind, Promise<ItemList>>>()
  /** The last complete lists over shared connections. */
  readonly #shared = new Map<ListKind, readonly ServerItem[]>()
  /** What was last held back of these. */
  readonly #held = new Map<ListKind, string>()
  readonly #observed = new WeakMap<Connection, { readonly at: number; readonly done: Promise<unknown> }>()
  /** What was last wrong with each list. */
  readonly #reported = new Map<ListKind, readonly string[]>()

  constructor(state: ServerState, options: ServerItemsOptions) {
    this.#state = state
    this.#options = options
  }

  /** Reads one list to its last page. Never rejects. */
  async list(kind: ListKind, link: ItemsLink, limits: ItemLimits = {}): Promise<ItemList> {
    const { connection, isShared } = link
    const at = this.#options.now()
    const { items, warnings, failure } = await listItems(kind, (cursor) =>
      connection.request(ITEM_LISTS[kind].method, cursor === undefined ? {} : { cursor }, {
        ...limits,
        timeoutMs: limits.timeoutMs ?? PAGE_MS,
      }),
    )
    const checked = items.map((item) => this.#checked(item))
    this.#report(kind, [...warnings, ...heldWarning(kind, checked)])
    if (failure !== undefined) return { items: checked, failure }
    mapOf(this.#known, connection).set(kind, { at, items })
    if (isShared) this.#held.set(kind, heldKeys(checked))
    if (isShared && !isDeepStrictEqual(items, this.#shared.get(kind))) {
      this.#shared.set(kind, items)
      this.scan(kind, items)
    }
    return { items: checked }
  }

  /** Scans items over the shared connection. */
  scan(kind: ItemKind, items: readonly ServerItem[]): void {
    const report = (finding: Finding) => this.#state.emit({ type: 'tool-suspicious', finding })
    this.#options.scans.seeItems({ server: this.#state.name, kind, items, report })
  }

  /** What the server offers, by kind; what is unknown is missing. Over an open connection, it is asked now and then. */
  async observe(
    info: ServerInfo | undefined,
    connection: Connection | undefined,
  ): Promise<ReadonlyMap<ItemKind, readonly ServerItem[]>> {
    const offered = new Map<ItemKind, readonly ServerItem[]>()
    if (!info) return offered
    const isOffered = (kind: ListKind) => info.capabilities[ITEM_LISTS[kind].capability] !== undefined
    if (connection) await this.#readAll(LIST_KINDS.filter(isOffered), connection)
    offered.set('instructions', instructionItems(info.instructions))
    for (const kind of LIST_KINDS) {
      const items = isOffered(kind) ? this.#shared.get(kind) : []
      if (items) offered.set(kind, items)
    }
    return offered
  }

  /** Tells listeners which lists another lockfile changes. */
  recheck(): void {
    for (const [kind, items] of this.#shared) {
      const held = heldKeys(items.map((item) => this.#checked(item)))
      if (held === this.#held.get(kind)) continue
      this.#held.set(kind, held)
      const method = `notifications/${ITEM_LISTS[kind].capability}/list_changed`
      this.#options.client.onNotification?.({ server: this.#state.name, method })
    }
  }

  /** Why a request for a prompt or a resource must not be sent: the lockfile holds back what it names. */
  async refusalOf({ method, params = {} }: RawRequest, link: ItemsLink): Promise<string | undefined> {
    if (!this.#options.guard.coversItems(this.#state.name)) return undefined
    if (method === 'prompts/get') return this.#promptRefusal(params.name, link)
    if (method === 'resources/read' || method === 'resources/subscribe')
      return this.#resourceRefusal(params.uri, link)
    if (method !== 'completion/complete' || !isRecord(params.ref)) return undefined
    const { type, name, uri } = params.ref
    return type === 'ref/prompt' ? this.#promptRefusal(name, link) : this.#resourceRefusal(uri, link)
  }

  /** Reads lists, unless that was done recently: a server that fails or hangs is not asked each time. */
  async #readAll(kinds: readonly ListKind[], connection: Connection): Promise<void> {
    const at = this.#options.now()
    const last = this.#observed.get(connection)
    if (last && at - last.at < CURRENT_MS) return void (await last.done)
    const link = { connection, isShared: true }
    const done = Promise.all(kinds.map((kind) => this.list(kind, link, UPKEEP)))
    this.#observed.set(connection, { at, done })
    await done
  }

  async #promptRefusal(name: unknown, link: ItemsLink): Promise<string | undefined> {
    const { items } = await this.#readOnce('prompts', link)
    const prompt = items.find(({ key }) => key === name)
    return this.#refusal('prompt', name, prompt ? prompt.heldBecause : 'the server does not list it')
  }

  /**
   * A resource that is not listed may be read, because results of tools link to such; but not if only templates that are
   * held back fit it.
   */
  async #resourceRefusal(uri: unknown, link: ItemsLink): Promise<string | undefined> {
    const [resources, templates] = await Promise.all([
      this.#current('resources', link),
      this.#current('resourceTemplates', link),
    ])
    const listed = resources.find(({ key }) => key === uri)
    const fitting = templates.filter(({ key }) => key === uri || fitsTemplate(String(uri), key))
    const reasons = (listed ? [listed] : fitting).map((item) => this.#checked(item).heldBecause)
    return this.#refusal('resource', uri, reasons.includes(undefined) ? undefined : reasons[0])
  }

  #refusal(what: string, name: unknown, reason: string | undefined): string | undefined {
    const quoted = String(name).slice(0, MAX_SHOWN_NAME)
    return reason && `${what} "${quoted}" of server "${this.#state.name}" is not available: ${reason}`
  }

  async #current(kind: ListKind, link: ItemsLink): Promise<readonly ServerItem[]> {
    const known = this.#known.get(link.connection)?.get(kind)
    const isCurrent = known && this.#options.now() - known.at < CURRENT_MS
    return isCurrent ? known.items : (await this.#readOnce(kind, link)).items
  }

  /** Concurrent requests share one reading. */
  #readOnce(kind: ListKind, link: ItemsLink): Promise<ItemList> {
    const reading = mapOf(this.#reading, link.connection)
    const running = reading.get(kind)
    if (running) return running
    const list = this.list(kind, link, UPKEEP).finally(() => reading.delete(kind))
    reading.set(kind, list)
    return list
  }

  #checked(item: ServerItem): CheckedItem {
    const heldBecause = this.#options.guard.itemHeldBecause(this.#state.name, item)
    return heldBecause === undefined ? item : { ...item, heldBecause }
  }

  /** Reports what was not wrong with the last list of this kind. */
  #report(kind: ListKind, warnings: readonly string[]): void {
    const before = this.#reported.get(kind) ?? []
    this.#reported.set(kind, warnings)
    for (const warning of warnings) if (!before.includes(warning)) this.#state.warn(warning)
  }
}

interface KnownList {
  readonly at: number
  readonly items: readonly ServerItem[]
}

const UPKEEP = { isUpkeep: true }
const MAX_SHOWN_NAME = 200

function heldKeys(items: readonly CheckedItem[]): string {
  return JSON.stringify(items.filter(({ heldBecause }) => heldBecause !== undefined).map(({ key }) => key))
}

function heldWarning(kind: ListKind, items: readonly CheckedItem[]): string[] {
  const held = items.filter(({ heldBecause }) => heldBecause !== undefined)
  const [first] = held
  if (!first) return []
  const others = held.length > 1 ? ` and ${held.length - 1} more` : ''
  return [`its ${kind} "${first.key.slice(0, MAX_SHOWN_NAME)}"${others} are held back: ${first.heldBecause}`]
}

function mapOf<Value>(
  maps: WeakMap<Connection, Map<ListKind, Value>>,
  connection: Connection,
): Map<ListKind, Value> {
  const map = maps.get(connection) ?? new Map<ListKind, Value>()
  maps.set(connection, map)
  return map
}
