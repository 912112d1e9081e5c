import { randomUUID } from 'node:crypto'
import type { Schedule } from 'toolcrib/mcp'
import { type Store, type WatchedStore, watchStore } from 'toolcrib/stores'
import { AskingServers } from './asking-servers.ts'
import { Audience } from './audience.ts'
import type { ClientLine } from './client-line.ts'
import { ClientRequests } from './client-requests.ts'
import { ConnectedClients } from './connected-clients.ts'
import { EventStreams } from './event-streams.ts'
import type { Exchange, HttpHeaders } from './exchange.ts'
import { GatewayLog } from './gateway-log.ts'
import { DEFAULT_LIMITS, type GatewayLimits, type GatewayOptions, type Limits } from './gateway-options.ts'
import { GatewaySessions } from './gateway-sessions.ts'
import { ClientLoad, ServerLoad } from './load-limits.ts'
import { LogLevels } from './log-levels.ts'
import { Metrics } from './metrics.ts'
import { ModernCalls } from './modern-calls.ts'
import { Offers } from './offers.ts'
import { ParkedRecords } from './parked-records.ts'
import { Presentation } from './presentation.ts'
import { PrivateConnections } from './private-connections.ts'
import { type RelayTarget, ReplicaDuties } from './replica-duties.ts'
import { Replicas } from './replicas.ts'
import { Reply } from './reply.ts'
import { RequestStates } from './request-states.ts'
import { ServerLists } from './server-lists.ts'
import { SharedLoad } from './shared-load.ts'
import { Subscriptions } from './subscriptions.ts'
import { Tasks } from './tasks.ts'
import { ToolCalls } from './tool-calls.ts'
import { ToolList } from './tool-list.ts'
import { Traffic } from './traffic.ts'
import { UnlistedServers } from './unlisted-servers.ts'
import { Upstream } from './upstream.ts'

/** The services that all clients of a gateway share, over HTTP and stdio. */
export class GatewayServices {
  readonly options: GatewayOptions
  /** The current limits: one object, whose values change when the gateway is reloaded. */
  readonly limits: Limits
  readonly now: () => number
  readonly schedule: Schedule
  readonly newId: () => string
  readonly log: GatewayLog
  readonly clients: ConnectedClients
  readonly streams: EventStreams
  readonly requests: ClientRequests
  readonly modernCalls: ModernCalls
  readonly states: RequestStates
  readonly connections: PrivateConnections
  readonly traffic: Traffic
  readonly tools: ToolList
  readonly load: ClientLoad
  readonly offers: Offers
  readonly audience: Audience
  readonly metrics: Metrics
  readonly presentation: Presentation
  readonly sessions: GatewaySessions
  readonly subscriptions: Subscriptions
  readonly logLevels: LogLevels
  /** The store of the options, with a limit on how long its operations may block. */
  readonly store: WatchedStore | undefined
  /** The other replicas of this gateway, if there are any. */
  readonly replicas: Replicas | undefined
  relayTarget: RelayTarget | undefined
  readonly #duties: ReplicaDuties | undefined
  readonly #sharedLoad: SharedLoad | undefined
  readonly #unsubscribe: () => void

  constructor(options: GatewayOptions) {
    const { registry, servers, announcements, askingServers = [] } = options
    this.options = options
    this.limits = withDefaults(options.limits ?? {})
    this.now = options.now ?? Date.now
    this.schedule = options.schedule ?? inBackground
    this.newId = options.newId ?? randomUUID
    const store = options.store && watched(options.store, { clock: this.now, schedule: this.schedule })
    this.store = store
    this.log = new GatewayLog(options)
    this.clients = new ConnectedClients(this.now)
    this.presentation = new Presentation(options)
    this.sessions = new GatewaySessions(options, {
      store,
      limits: this.limits,
      warn: (text) => this.warn(text),
    })
    this.metrics = new Metrics(registry, this.sessions)
    this.streams = new EventStreams(this.schedule)
    this.connections = new PrivateConnections(servers, () => this.#listener())
    const asking = new AskingServers(askingServers, store)
    this.traffic = new Traffic(servers, asking, this.connections, new ServerLoad(this.limits))
    this.load = new ClientLoad(this.limits, this.now)
    const upstream = new Upstream(servers, this.traffic)
    this.audience = new Audience(registry, this.schedule)
    const lists = new ServerLists(servers, this.traffic, (warning) => this.warn(warning), this)
    this.offers = new Offers(lists, upstream, options.names ?? 'prefixed')
    const unlisted = new UnlistedServers(servers, this.limits)
    this.tools = new ToolList(registry, servers, { unlisted, metrics: this.metrics })
    const states = new RequestStates(store, this)
    this.states = states
    const tasks = new Tasks(states, upstream)
    this.requests = new ClientRequests(
      this.tools,
      new ToolCalls(registry, upstream, { unlisted, tasks }),
      this.offers,
      tasks,
      this.load,
    )
    this.subscriptions = new Subscriptions(servers)
    this.logLevels = new LogLevels(servers)
    this.modernCalls = new ModernCalls(
      states,
      new ParkedRecords(store, this.limits),
      this,
      () => this.replicas,
    )
    this.#duties = announcements && new ReplicaDuties(this)
    this.#sharedLoad = announcements && store && new SharedLoad(this.load, store, this)
    this.replicas = announcements && this.#duties && new Replicas(announcements, this, this.#duties)
    this.#watchGauges()
    const detach = servers.attach(this.#listener())
    const unsubscribe = registry.subscribe((event) => {
      if (event.type !== 'server-state' || event.state === 'connecting') return
      unlisted.settled(event.server)
      if (event.state !== 'ready') return
      this.subscriptions.restarted(event.server)
      this.logLevels.started(event.server)
    })
    this.#unsubscribe = () => {
      detach()
      unsubscribe()
    }
  }

  /** The reply to a POST of a client. */
  replyTo(
    exchange: Exchange,
    options: { readonly headers?: HttpHeaders; readonly expected?: number } = {},
  ): Reply {
    return new Reply(exchange, this.streams, { schedule: this.schedule, ...options })
  }

  /** Notifies servers, over this client's connections, that its roots changed. */
  rootsChanged(line: ClientLine): void {
    for (const { server } of this.options.servers.status())
      void this.connections.notify(line, server, 'notifications/roots/list_changed')
  }

  /** Applies these limits from now on, and the defaults for all others. */
  replaceLimits(given: GatewayLimits): void {
    Object.assign(this.limits, withDefaults(given))
  }

  warn(warning: string): void {
    this.log.warn(warning)
  }

  /** Cancels calls that wait for their client, and waits a limited time for the others and for `answered`. */
  async drained(answered: Promise<void>): Promise<void> {
    this.modernCalls.close()
    let stop = () => {}
    const timeUp = new Promise<void>((resolve) => {
      stop = this.schedule(this.limits.drainMs, resolve)
    })
    await Promise.race([Promise.all([answered, this.load.idle()]), timeUp])
    stop()
    // The last results are known, but not written yet.
    await someSteps()
    this.modernCalls.giveUp()
    await someSteps()
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.audience.close()
    this.subscriptions.close()
    this.metrics.close()
    this.sessions.close()
    this.presentation.close()
    this.streams.close()
    this.#duties?.close()
    this.#sharedLoad?.close()
    this.replicas?.close()
    await this.connections.close()
    if (this.store !== this.options.store) this.store?.unwatch()
  }

  #watchGauges(): void {
    const { metrics } = this
    const { registry, servers } = this.options
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

function withDefaults(given: GatewayLimits): Limits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) }
}

/** Returns a store that is already watched unchanged. */
function watched(store: Store, options: Parameters<typeof watchStore>[1]): WatchedStore {
  return 'health' in store && 'onBack' in store ? (store as WatchedStore) : watchStore(store, options)
}

const inBackground: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}

async function someSteps(): Promise<void> {
  for (let step = 0; step < 3; step++) await new Promise((resolve) => setImmediate(resolve))
}
