import type { ToolcribEvent, ToolRegistry } from '@toolcrib/core'
import type { GatewaySessions } from '../sessions/gateway-sessions.ts'
import { Counter, Histogram, type Labels, type MetricValues, metricText } from './prometheus.ts'

/** Reads the values of a gauge. */
export type Gauge = () => readonly { readonly labels: Labels; readonly value: number }[]

/** The counters of `/metrics`. Labels are servers, profiles and outcomes, never tools, clients or arguments. */
export class Metrics {
  readonly #sessions: Pick<GatewaySessions, 'names' | 'profileOf'>
  readonly #calls = new Counter('toolcrib_calls_total', 'Calls of tools, by server, profile and outcome.')
  readonly #latency = new Histogram(
    'toolcrib_call_duration_seconds',
    'How long calls of tools took, by server.',
  )
  readonly #searches = new Counter('toolcrib_searches_total', 'Searches for tools, by profile.')
  readonly #misses = new Counter('toolcrib_search_misses_total', 'Searches that found nothing, by profile.')
  readonly #activations = new Counter(
    'toolcrib_activations_total',
    'Tools that searches and calls checked out.',
  )
  readonly #saved = new Counter(
    'toolcrib_tokens_saved_total',
    'Estimated tokens of tools that lists left out.',
  )
  readonly #requests = new Counter('toolcrib_http_requests_total', 'HTTP requests, by route and status.')
  readonly #gauges = new Map<keyof typeof GAUGES, Gauge>()
  readonly #unsubscribe: () => void

  constructor(registry: ToolRegistry, sessions: Pick<GatewaySessions, 'names' | 'profileOf'>) {
    this.#sessions = sessions
    this.#unsubscribe = registry.subscribe((event) => this.#count(event))
  }

  /** Adds a gauge. */
  watch(name: keyof typeof GAUGES, gauge: Gauge): void {
    this.#gauges.set(name, gauge)
  }

  answered(route: string, status: number): void {
    this.#requests.add({ route, status: String(status) })
  }

  /** Counts the tokens that a list of tools saved. */
  listed(profile: string | undefined, savedTokens: number): void {
    this.#saved.add({ profile: profile ?? '' }, savedTokens)
  }

  /** All metrics in the text format of Prometheus. */
  text(): string {
    return this.values().map(metricText).join('')
  }

  values(): readonly MetricValues[] {
    const counted = [this.#calls, this.#latency, this.#searches, this.#misses, this.#activations, this.#saved]
    const gauges = [...this.#gauges].map(([name, values]) => {
      const gauge = new Counter(name, GAUGES[name], name.endsWith('_total') ? 'counter' : 'gauge')
      for (const { labels, value } of values()) gauge.add(labels, value)
      return gauge
    })
    return [...counted, this.#requests, ...gauges].map((metric) => metric.values())
  }

  close(): void {
    this.#unsubscribe()
  }

  #count(event: ToolcribEvent): void {
    const profile = this.#sessions.profileOf(event.sessionId)
    if (profile === undefined) return
    if (event.type === 'call-finished') {
      const server = this.#sessions.names.ofRegistered(event.name)?.server ?? ''
      this.#calls.add({ server, profile, outcome: event.ok ? 'ok' : outcomeOf(event.code) })
      this.#latency.add({ server }, event.durationMs / 1_000)
    }
    if (event.type === 'searched') this.#searches.add({ profile })
    if (event.type === 'missed' && event.what === 'search') this.#misses.add({ profile })
    if (event.type === 'activated' || event.type === 'auto-activated')
      this.#activations.add({ profile }, event.names.length)
  }
}

const GAUGES = {
  toolcrib_sessions: 'Sessions of older clients that are open.',
  toolcrib_calls_under_way: 'Requests in flight at servers.',
  toolcrib_calls_parked: 'Calls that wait for an answer of their client.',
  toolcrib_server_ready: '1 for a server that runs, 0 for one that does not.',
  toolcrib_tools: 'Tools that are registered.',
  toolcrib_store_ready: '1 while the store works, 0 while it fails.',
  toolcrib_store_operations_total: 'Operations of the store, by kind and outcome.',
} as const

const OUTCOMES = [
  'not_available',
  'input_invalid',
  'denied',
  'repeated',
  'execution_failed',
  'timeout',
  'cancelled',
]

/** Tools may return any number of codes. */
function outcomeOf(code: string | undefined): string {
  return code !== undefined && OUTCOMES.includes(code) ? code : 'error'
}
