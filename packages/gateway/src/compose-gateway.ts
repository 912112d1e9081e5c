import { randomUUID } from 'node:crypto'
import { memoryStore } from '@toolcrib/core'
import { scheduleInBackground } from '@toolcrib/core/internal'
import { type Store, type WatchedStore, watchStore } from '@toolcrib/mcp/stores'
import { Access } from './access/access.ts'
import { Approvals } from './approvals/approvals.ts'
import { AskingServers } from './asks/asking-servers.ts'
import { ClientRoots } from './asks/client-roots.ts'
import { PrivateConnections } from './asks/private-connections.ts'
import { ServerEvents } from './asks/server-events.ts'
import { Traffic } from './asks/traffic.ts'
import { AuditLog } from './audit/audit-log.ts'
import { Auditor } from './audit/audited-call.ts'
import { BigResults } from './calls/big-results.ts'
import { ClientRequests } from './calls/client-requests.ts'
import { Tasks } from './calls/tasks.ts'
import { ToolCalls } from './calls/tool-calls.ts'
import { Upstream } from './calls/upstream.ts'
import { GatewayLog } from './gateway-log.ts'
import {
  DEFAULT_LIMITS,
  type GatewayLimits,
  type GatewayTime,
  type Limits,
  type ServedOptions,
} from './gateway-options.ts'
import { HttpGateway } from './http/http-gateway.ts'
import { Replies } from './http/reply.ts'
import { LegacySessions } from './legacy/legacy-sessions.ts'
import { LegacyTransport } from './legacy/legacy-transport.ts'
import { ListWatchers } from './lists/list-watchers.ts'
import { Presentation } from './lists/presentation.ts'
import { PromptsAndResources } from './lists/prompts-and-resources.ts'
import { ServerLists } from './lists/server-lists.ts'
import { ToolList } from './lists/tool-list.ts'
import { UnlistedServers } from './lists/unlisted-servers.ts'
import { ClientLoad, ServerLoad } from './load/load-limits.ts'
import { SharedLoad } from './load/shared-load.ts'
import { Metrics } from './metrics/metrics.ts'
import { ModernCalls } from './modern/modern-calls.ts'
import { ModernTransports } from './modern/modern-transports.ts'
import { ParkedRecords } from './modern/parked-records.ts'
import { RequestStates } from './modern/request-states.ts'
import { ReplicaDuties } from './replicas/replica-duties.ts'
import { Replicas } from './replicas/replicas.ts'
import type { StdioTransportOptions } from './sdk/stdio-transport.ts'
import { ConnectedClients } from './sessions/connected-clients.ts'
import { GatewaySessions } from './sessions/gateway-sessions.ts'

/** A composed gateway, as `OpenGateway` uses it. */
export interface ComposedGateway {
  readonly http: HttpGateway
  /** What serves clients over stdio. */
  readonly stdio: StdioTransportOptions
  readonly access: Access
  readonly tools: ToolList
  readonly approvals: Approvals
  readonly auditor: Auditor | undefined
  readonly load: ClientLoad
  readonly metrics: Metrics
  readonly log: GatewayLog
  readonly limits: Limits
  readonly time: GatewayTime
  readonly replicas: Replicas | undefined
  /** Ends what runs in the background, once the clients are gone. */
  close(): Promise<void>
}

/** Builds a gateway from the inside out: what all clients share, their requests, then the transports. */
export function composeGateway(options: ServedOptions): ComposedGateway {
  const { registry, servers, announcements, askingServers = [], names = 'prefixed' } = options
  // One object, whose values change when the gateway is reloaded.
  const limits = withDefaults(options.limits ?? {})
  const { now = Date.now, schedule = scheduleInBackground, newId = randomUUID } = options
  const time = { now, schedule, newId }
  const log = new GatewayLog(options)
  const warn = (warning: string) => log.warn(warning)
  const store = options.store && watched(options.store, { clock: now, schedule })
  const memory = memoryStore()
  const replicas = announcements && new Replicas(announcements, { store, schedule, newId, limits, warn })

  const connected = new ConnectedClients(now)
  const presentation = new Presentation(options)
  const sessions = new GatewaySessions(options, { store, limits, warn })
  const metrics = new Metrics(registry, sessions)
  const load = new ClientLoad(limits, now)
  const unlisted = new UnlistedServers(servers, limits)
  const watchers = new ListWatchers(registry, schedule)

  const connections: PrivateConnections = new PrivateConnections(servers, () => events.listener, {
    limits,
    now,
    schedule,
  })
  const asking = new AskingServers(askingServers, store)
  const roots = new ClientRoots(schedule)
  const traffic = new Traffic(servers, asking, connections, roots, new ServerLoad(limits), now)
  const events = new ServerEvents({ registry, servers }, { traffic, watchers, unlisted })

  const upstream = new Upstream(servers, traffic)
  const states = new RequestStates(store, { limits, now })
  const lists = new ServerLists(servers, traffic, warn, { limits, schedule, watchers })
  const bigResults = new BigResults(servers, store ?? memory, limits)
  const tools = new ToolList(registry, servers, { unlisted, metrics, bigResults })
  const approvals = new Approvals(registry, store ?? memory, {
    limits,
    time,
    onPending: options.onPending,
    // What one of several users allows is not for the others.
    alwaysAllowed: () => (sessions.isShared ? undefined : options.alwaysAllowed),
  })
  const auditor = options.audit && new Auditor(new AuditLog(options.audit, now), registry, { now, warn })
  const tasks = new Tasks(states, upstream, { auditor, bigResults })
  const toolCalls = new ToolCalls(registry, upstream, { unlisted, tasks, approvals, auditor, bigResults })
  const items = new PromptsAndResources(lists, upstream, names)
  const requests = new ClientRequests(tools, toolCalls, items, tasks, load)
  const parked = new ParkedRecords(store, limits)
  const calls = new ModernCalls(states, parked, { limits, schedule, newId }, replicas)

  const access = new Access(options)
  const replies = new Replies(schedule)
  const forClients = { sessions, connected, requests, events, presentation, limits, log, time }
  const legacySessions = new LegacySessions({ ...forClients, replies, replicas, store }, access)
  const http = new HttpGateway({
    ...{ access, sessions, servers, store, metrics, load, limits, time, log },
    legacy: new LegacyTransport(legacySessions, { replies, replicas, log }),
    legacySessions,
    modern: new ModernTransports({ ...forClients, calls, registry, replies }, access),
  })

  const duties =
    replicas &&
    new ReplicaDuties({
      ...{ registry, servers, calls, states, replicas, schedule, log },
      sessions: legacySessions,
      onReload: options.onReload,
    })
  if (duties) replicas?.begin(duties)
  const sharedLoad = announcements && store && new SharedLoad(load, store, { limits, now, schedule })

  metrics.watch('toolcrib_sessions', () => [{ labels: {}, value: http.sessions }])
  metrics.watch('toolcrib_calls_under_way', () => [{ labels: {}, value: traffic.size }])
  metrics.watch('toolcrib_calls_parked', () => [{ labels: {}, value: calls.parked }])
  metrics.watch('toolcrib_tools', () => [{ labels: {}, value: registry.size }])
  metrics.watch('toolcrib_server_ready', () =>
    servers.status().map(({ server, state }) => ({ labels: { server }, value: state === 'ready' ? 1 : 0 })),
  )
  if (store) watchStoreGauges(metrics, store)

  return {
    ...{ http, access, tools, approvals, auditor, load, metrics, log, limits, time, replicas },
    stdio: { ...forClients, calls },
    async close() {
      for (const part of [
        events,
        metrics,
        sessions,
        presentation,
        replies,
        duties,
        sharedLoad,
        replicas,
        auditor,
      ])
        part?.close()
      await connections.close()
      if (store !== options.store) store?.unwatch()
    },
  }
}

/** The limits of the options, and the defaults for all others. */
export function withDefaults(given: GatewayLimits): Limits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) }
}

function watchStoreGauges(metrics: Metrics, store: WatchedStore): void {
  metrics.watch('toolcrib_store_ready', () => [{ labels: {}, value: store.health().state === 'ok' ? 1 : 0 }])
  metrics.watch('toolcrib_store_operations_total', () =>
    store.counts().map(({ operation, outcome, count }) => ({ labels: { operation, outcome }, value: count })),
  )
}

/** Returns a store that is already watched unchanged. */
function watched(store: Store, options: Parameters<typeof watchStore>[1]): WatchedStore {
  return 'health' in store && 'onBack' in store ? (store as WatchedStore) : watchStore(store, options)
}
