import type { Session, Surface, UsageMemory } from 'toolcrib'
import type { Schedule } from 'toolcrib/mcp'
import { type Store, type WatchedStore, watchStore } from 'toolcrib/stores'
import { version } from '../../package.json'
import { AskingServers } from './asking-servers.ts'
import { Audience } from './audience.ts'
import type { ClientLine, Json } from './client-line.ts'
import { ClientRequests } from './client-requests.ts'
import { ConnectedClients } from './connected-clients.ts'
import { EventStreams } from './event-streams.ts'
import type { Exchange, HttpHeaders } from './exchange.ts'
import { GatewayLog } from './gateway-log.ts'
import { DEFAULT_LIMITS, type GatewayOptions, type Limits } from './gateway-options.ts'
import { instructionsFor } from './instructions.ts'
import { ClientLoad, ServerLoad } from './load-limits.ts'
import { Metrics } from './metrics.ts'
import { ModernCalls } from './modern-calls.ts'
import { Offers } from './offers.ts'
import { ParkedRecords } from './parked-records.ts'
import type { Principal } from './principal.ts'
import { PrivateConnections } from './private-connections.ts'
import { type RelayTarget, ReplicaDuties } from './replica-duties.ts'
import { Replicas } from './replicas.ts'
import { Reply } from './reply.ts'
import { RequestStates } from './request-states.ts'
import { ServerLists } from './server-lists.ts'
import { ExpiringStore } from './session-records.ts'
import { SharedLoad } from './shared-load.ts'
import { Subscriptions } from './subscriptions.ts'
import { type CallScene, ToolCalls } from './tool-calls.ts'
import { ToolList } from './tool-list.ts'
import { ToolNames } from './tool-names.ts'
import { Traffic } from './traffic.ts'
import { Upstream } from './upstream.ts'
import { type Activation, View } from './view.ts'

/** How the gateway presents itself when a client connects. */
export interface GatewayDescription {
  readonly info: { readonly name: string; readonly version: string }
  readonly capabilities: Json
  readonly instructions: string | undefined
}

/** The services that all clients of a gateway share, over HTTP and stdio. */
export class GatewayServices {
  readonly options: GatewayOptions
  readonly limits: Limits
  readonly now: () => number
  readonly schedule: Schedule
  readonly newId: () => string
  readonly log: GatewayLog
  readonly clients: ConnectedClients
  readonly streams: EventStreams
  readonly requests: ClientRequests
  readonly modernCalls: ModernCalls
  readonly connections: PrivateConnections
  readonly traffic: Traffic
  readonly load: ClientLoad
  readonly offers: Offers
  readonly audience: Audience
  readonly metrics: Metrics
  readonly subscriptions: Subscriptions
  /** The store of the options, with a limit on how long its operations may block. */
  readonly store: WatchedStore | undefined
  /** The other replicas of this gateway, where there are any. */
  readonly replicas: Replicas | undefined
  relayTarget: RelayTarget | undefined
  readonly #duties: ReplicaDuties | undefined
  readonly #sharedLoad: SharedLoad | undefined
  readonly #profiles = new Map<string, string>()
  readonly #capabilities = new Map<View, Json>()
  readonly #views = new Map<string | undefined, View>()
  readonly #unsubscribe: () => void
  #names: ToolNames | undefined

  constructor(options: GatewayOptions) {
    const { registry, servers, announcements, askingServers = [] } = options
    this.options = options
    this.limits = withDefaults(options.limits ?? {})
    this.now = options.now ?? Date.now
    this.schedule = options.schedule ?? inBackground
    this.newId = options.newId ?? (() => crypto.randomUUID())
    const store = options.store && watched(options.store, { clock: this.now, schedule: this.schedule })
    this.store = store
    this.log = new GatewayLog(options)
    this.clients = new ConnectedClients(this.now)
    this.streams = new EventStreams(this.schedule)
    this.connections = new PrivateConnections(servers, () => this.#listener())
    const asking = new AskingServers(askingServers, store)
    this.traffic = new Traffic(servers, asking, this.connections, new ServerLoad(this.limits))
    this.load = new ClientLoad(this.limits, this.now)
    const upstream = new Upstream(servers, this.traffic)
    this.metrics = this.#measure()
    const lists = new ServerLists(servers, (warning) => this.warn(warning))
    this.offers = new Offers(lists, upstream, options.names ?? 'prefixed')
    const tools = new ToolList(registry, servers, this)
    this.requests = new ClientRequests(
      tools,
      new ToolCalls(options, upstream, this.limits),
      this.offers,
      this.load,
    )
    this.audience = new Audience(registry, this.schedule)
    this.subscriptions = new Subscriptions(servers)
    const states = new RequestStates(store, { ttlMs: this.limits.askTimeoutMs, now: this.now })
    this.modernCalls = new ModernCalls(
      states,
      new ParkedRecords(store, this.limits.askTimeoutMs),
      this,
      () => this.replicas,
    )
    this.#duties = announcements && new ReplicaDuties(this)
    this.#sharedLoad = announcements && store && new SharedLoad(this.load, store, this)
    this.replicas =
      announcements &&
      this.#duties &&
      new Replicas(
        {
          announcements,
          store,
          schedule: this.schedule,
          newId: this.newId,
          warn: (warning) => this.warn(warning),
        },
        this.#duties,
      )
    const detach = servers.attach(this.#listener())
    const unsubscribe = registry.subscribe((event) => {
      if (CHANGES.includes(event.type)) this.#names = undefined
      if (event.type === 'server-state' || event.type === 'server-synced') this.#capabilities.clear()
      if (event.type === 'server-state' && event.state === 'ready') this.subscriptions.restarted(event.server)
    })
    this.#unsubscribe = () => {
      detach()
      unsubscribe()
    }
  }

  /** The current names of tools. */
  get names(): ToolNames {
    this.#names ??= new ToolNames(this.options.registry, this.options.names ?? 'prefixed')
    return this.#names
  }

  /** What a principal sees under a profile; undefined when there is no such profile, or not for this principal. */
  view(profile: string | undefined, principal: Principal): View | undefined {
    const wanted = profile ?? principal.profile
    if (principal.profiles && !(wanted !== undefined && principal.profiles.includes(wanted))) return undefined
    const known = this.#views.get(wanted)
    if (known) return known
    const { registry, profiles = {}, mode } = this.options
    if (wanted !== undefined && !Object.hasOwn(profiles, wanted)) return undefined
    const settings = (wanted === undefined ? undefined : profiles[wanted]) ?? {}
    const view = new View(registry, { profile: wanted, settings, mode })
    this.#views.set(wanted, view)
    return view
  }

  /** The view, session and names that requests of a client work with. */
  scene(view: View, session: Session): CallScene {
    const services = this
    return {
      view,
      session,
      get names() {
        return services.names
      },
    }
  }

  /**
   * Opens a session. One whose list grows continues where it stopped when it is opened again under the same id; the
   * list of any other never changes, so there is nothing to keep.
   */
  async openSession(
    view: View,
    id: string,
    principal: Principal | undefined,
    activation: Activation = 'doors',
  ): Promise<Session> {
    const { store } = this
    const kept =
      store && activation === 'list' ? new ExpiringStore(store, this.limits.sessionIdleMs) : undefined
    const memory = this.#memoryOf(principal)
    const session = await view.openSession({ id: sessionIdOf(id), store: kept, memory, activation })
    this.#profiles.set(session.id, view.profile ?? '')
    return session
  }

  /** Where there are several principals, each has a memory of its own. Whoever started the process owns the registry's. */
  #memoryOf(principal: Principal | undefined): UsageMemory | undefined {
    const { registry, tokens = [], oauth } = this.options
    const { memory } = registry
    const isShared = oauth !== undefined || tokens.length > 1
    return memory && principal && isShared ? memory.of(`${memory.owner}/${principal.id}`) : memory
  }

  async closeSession(session: Session): Promise<void> {
    this.#profiles.delete(session.id)
    // What the store does not take is lost with this process; the session itself ends all the same.
    await session.close().catch((error) => this.warn(String(error)))
  }

  /** Removes what is kept of a session that its client ended. */
  async forgetSession(id: string): Promise<void> {
    await this.store?.delete(`session:${sessionIdOf(id)}`).catch((error) => this.warn(String(error)))
  }

  /** The capabilities that clients of a view are offered. */
  capabilities(view: View): Json {
    const known = this.#capabilities.get(view) ?? this.#collectCapabilities(view)
    this.#capabilities.set(view, known)
    return known
  }

  /** The name and version that clients see. */
  get info(): GatewayDescription['info'] {
    return this.options.serverInfo ?? { name: 'toolcrib', version }
  }

  /** How the gateway presents itself to clients of a view that see this surface. */
  describe(view: View, { deferredCount }: Pick<Surface, 'deferredCount'>): GatewayDescription {
    const { servers, instructions } = this.options
    const isSearching = deferredCount > 0
    return {
      info: this.info,
      capabilities: this.capabilities(view),
      instructions: instructionsFor(view, { servers, instructions, isSearching }),
    }
  }

  /** The reply to a POST of a client. */
  replyTo(
    exchange: Exchange,
    options: { readonly headers?: HttpHeaders; readonly expected?: number } = {},
  ): Reply {
    return new Reply(exchange, this.streams, { schedule: this.schedule, ...options })
  }

  #collectCapabilities(view: View): Json {
    const { servers } = this.options
    const offered = new Set<string>()
    for (const { server } of servers.status()) {
      if (!view.permitsServer(server)) continue
      const info = servers.info(server)
      // Of a server that never ran nothing is known: it may offer all of it.
      for (const capability of OPTIONAL) if (!info || info.capabilities[capability]) offered.add(capability)
    }
    return {
      tools: { listChanged: true },
      ...(offered.has('prompts') ? { prompts: { listChanged: true } } : {}),
      ...(offered.has('resources') ? { resources: { listChanged: true, subscribe: true } } : {}),
      ...(offered.has('completions') ? { completions: {} } : {}),
      ...(offered.has('logging') ? { logging: {} } : {}),
    }
  }

  /** Notifies servers, over the connections of this client, that its roots changed. */
  rootsChanged(line: ClientLine): void {
    for (const { server } of this.options.servers.status())
      void this.connections.notify(line, server, 'notifications/roots/list_changed')
  }

  /** Asks running servers of a view for log messages of this level; modern ones are asked with each request. */
  wantLogs(view: View, level: string | undefined): void {
    const { servers } = this.options
    for (const { server, state } of servers.status()) {
      const info = servers.info(server)
      const isAsked = state === 'ready' && info?.era === 'legacy' && info.capabilities.logging !== undefined
      if (!isAsked || level === undefined || !view.permitsServer(server)) continue
      servers.request(server, { method: 'logging/setLevel', params: { level } }).catch(() => {})
    }
  }

  warn(warning: string): void {
    this.log.warn(warning)
  }

  /** Gives up calls that wait for their client, and waits for the others, for a while. */
  async drained(): Promise<void> {
    this.modernCalls.close()
    let stop = () => {}
    const timeUp = new Promise<void>((resolve) => {
      stop = this.schedule(this.limits.drainMs, resolve)
    })
    await Promise.race([this.load.idle(), timeUp])
    stop()
    // The last results are known, and written in the steps that follow.
    for (let step = 0; step < 3; step++) await new Promise((resolve) => setImmediate(resolve))
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.audience.close()
    this.subscriptions.close()
    this.metrics.close()
    this.streams.close()
    this.#duties?.close()
    this.#sharedLoad?.close()
    this.replicas?.close()
    await this.connections.close()
    if (this.store !== this.options.store) this.store?.unwatch()
  }

  #measure(): Metrics {
    const services = this
    const { registry, servers } = this.options
    const metrics = new Metrics({
      registry,
      get names() {
        return services.names
      },
      profileOf: (sessionId) => this.#profiles.get(sessionId ?? ''),
    })
    metrics.watch('toolcrib_calls_under_way', () => [{ labels: {}, value: this.traffic.size }])
    metrics.watch('toolcrib_calls_parked', () => [{ labels: {}, value: this.modernCalls.parked }])
    metrics.watch('toolcrib_tools', () => [{ labels: {}, value: registry.size }])
    metrics.watch('toolcrib_server_ready', () =>
      servers.status().map(({ server, state }) => ({ labels: { server }, value: state === 'ready' ? 1 : 0 })),
    )
    metrics.watch('toolcrib_store_ready', () =>
      this.store ? [{ labels: {}, value: this.store.health().state === 'ok' ? 1 : 0 }] : [],
    )
    metrics.watch('toolcrib_store_operations_total', () =>
      (this.store?.counts() ?? []).map(({ operation, outcome, count }) => ({
        labels: { operation, outcome },
        value: count,
      })),
    )
    return metrics
  }

  #listener() {
    return {
      onRequest: (request: Parameters<Traffic['ask']>[0]) => this.traffic.ask(request),
      onNotification: (notification: Parameters<Traffic['log']>[0]) => {
        if (notification.method === 'notifications/message') this.traffic.log(notification)
        this.audience.notified(notification)
        this.subscriptions.notified(notification)
      },
    }
  }
}

function sessionIdOf(id: string): string {
  return `gateway:${id}`
}

const OPTIONAL = ['prompts', 'resources', 'completions', 'logging']

/** Events after which tools may have other names. */
const CHANGES = ['tool-registered', 'tool-unregistered', 'server-synced']

function withDefaults(given: NonNullable<GatewayOptions['limits']>): Limits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) }
}

/** A store that is watched already stays as it is. */
function watched(store: Store, options: Parameters<typeof watchStore>[1]): WatchedStore {
  return 'health' in store && 'onBack' in store ? (store as WatchedStore) : watchStore(store, options)
}

const inBackground: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}
