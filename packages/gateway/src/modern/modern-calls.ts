import type { Schedule } from '@toolcrib/mcp'
import type { ClientLine } from '../asks/client-line.ts'
import type { Limits } from '../gateway-options.ts'
import { INTERNAL_ERROR, type Json, REFUSED, RpcError } from '../json-rpc.ts'
import { surplusHolder } from '../load/shares.ts'
import { invalidState } from '../replicas/continued-calls.ts'
import { type ParkedElsewhere, UnreachableReplica } from '../replicas/remote-calls.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { ParkedRecords } from './parked-records.ts'
import { type ModernRequest, PendingCall } from './pending-call.ts'
import type { RequestStates } from './request-states.ts'

// Servers ask in the middle of a call, so it is unknown what this one had done by then.
const LOST =
  'the call ended without a result, because the gateway that held it stopped; it may have done part of its work, so check that before you call again without requestState'
const CROWDED =
  'too many calls wait for an answer of their client, so this one was cancelled when it asked; it may have done part of its work'
const STOPPING = 'the gateway stopped before this call ended; whether it ran is unknown'
const GATHER_MS = 10

/** A request of a modern client. */
interface ModernCall {
  readonly params: Json
  readonly request: ModernRequest
  readonly principal: string
  /** Who may continue it, and with which request; computed only if needed. */
  readonly boundTo: () => string
}

/** A call that waits for an answer. */
interface Parked {
  readonly call: PendingCall
  readonly stopTimer: () => void
  /** Whether its loss is to be reported: no server works on an early one. */
  readonly isRecorded: boolean
}

/** What a request continues, according to the state that the client sent back. */
type Opened =
  /** It starts a call; `requestState` is that of a modern server, which keeps its own state at the client. */
  | { readonly kind: 'new'; readonly requestState?: string }
  | { readonly kind: 'here'; readonly call: PendingCall }
  | { readonly kind: 'elsewhere'; readonly replicas: Replicas; readonly parked: ParkedElsewhere }

/**
 * Runs the requests of modern clients during which servers may ask questions, and keeps those that wait for an answer.
 */
export class ModernCalls {
  readonly #states: RequestStates
  readonly #records: ParkedRecords
  readonly #limits: Limits
  readonly #schedule: Schedule
  readonly #newId: () => string
  readonly #replicas: Replicas | undefined
  readonly #parked = new Map<string, Parked>()
  /** Rejects each request in flight. */
  readonly #underWay = new Set<(error: RpcError) => void>()
  /** Calls that run, or wait for answers. */
  readonly #running = new Set<PendingCall>()

  constructor(
    states: RequestStates,
    records: ParkedRecords,
    { limits, schedule, newId }: { limits: Limits; schedule: Schedule; newId: () => string },
    replicas: Replicas | undefined,
  ) {
    this.#replicas = replicas
    this.#states = states
    this.#records = records
    this.#limits = limits
    this.#schedule = schedule
    this.#newId = newId
  }

  /** How many calls wait for an answer of their client. */
  get parked(): number {
    return this.#parked.size
  }

  /** Reaches the client of one request. */
  lineOf(request: ModernRequest, principal: string): PendingCall {
    return new PendingCall(request, { owner: this.#newId(), principal })
  }

  /** Answers a request with its result, or with a question of the server; with an error if the gateway stops first. */
  run(call: ModernCall, work: (params: Json, line: ClientLine) => Promise<Json>): Promise<Json> {
    return new Promise((resolve, reject) => {
      this.#underWay.add(reject)
      this.#run(call, work)
        .then(resolve, reject)
        .finally(() => this.#underWay.delete(reject))
    })
  }

  async #run(call: ModernCall, work: (params: Json, line: ClientLine) => Promise<Json>): Promise<Json> {
    const { params, request, principal, boundTo } = call
    const { inputResponses } = request
    const opened = await this.#open(request.requestState, boundTo)
    switch (opened.kind) {
      case 'here':
        opened.call.resume(request, inputResponses)
        return this.#progress(opened.call, boundTo)
      case 'elsewhere': {
        const { replicas, parked } = opened
        return replicas.resume(parked, boundTo(), request).catch((error) => this.#lost(parked.call, error))
      }
      case 'new': {
        const { requestState } = opened
        const state = requestState === undefined ? {} : { requestState }
        const answers = Object.keys(inputResponses).length > 0 ? { inputResponses } : {}
        const pending = this.lineOf(request, principal)
        pending.start((line) => work({ ...params, ...state, ...answers }, line))
        return this.#progress(pending, boundTo)
      }
    }
  }

  /**
   * Continues a call that is parked here with a request that arrived at another replica; undefined if the call is not
   * here.
   */
  resume(id: string, boundTo: string, request: ModernRequest): Promise<Json> | undefined {
    const parked = this.#take(id)
    if (!parked) return undefined
    parked.resume(request, request.inputResponses)
    return this.#progress(parked, () => boundTo)
  }

  /** Whether a requestState was sealed here, for this call. */
  async hasSealed(state: string, call: string, boundTo: string): Promise<boolean> {
    return (await this.#states.open(state, boundTo))?.parked === call
  }

  async #progress(pending: PendingCall, boundTo: () => string): Promise<Json> {
    this.#running.add(pending)
    const progressed = await pending.next(() => this.#gather()).finally(() => this.#running.delete(pending))
    await pending.flushed()
    if (progressed.kind === 'asking') {
      const { inputRequests, isEarly } = progressed
      const requestState = await this.#park(pending, boundTo(), isEarly)
      return { resultType: 'input_required', inputRequests, requestState }
    }
    const { result } = progressed
    if (result.resultType !== 'input_required') return result
    // A modern server keeps its own state at the client; here it is sealed for this client and request.
    const { requestState } = result
    const content = requestState === undefined ? {} : { requestState }
    return { ...result, requestState: await this.#states.seal(content, boundTo()) }
  }

  /** Answers the requests in flight with an error, and cancels their work, because the gateway stops. */
  giveUp(): void {
    for (const reject of this.#underWay) reject(new RpcError(INTERNAL_ERROR, STOPPING))
    for (const call of this.#running) call.abandon('the gateway is stopping')
  }

  /** Cancels the calls of these principals that wait for an answer. */
  abandon(principals: ReadonlySet<string>): void {
    for (const [id, { call }] of [...this.#parked]) {
      if (!principals.has(call.principal)) continue
      this.#take(id)
      call.abandon('the token of the client is no longer accepted')
    }
  }

  close(): void {
    // Their records stay, so that the next process knows that these calls were lost.
    for (const { call, stopTimer } of this.#parked.values()) {
      stopTimer()
      call.abandon('the gateway is stopping')
    }
    this.#parked.clear()
  }

  /** Waits briefly, so that questions that a server asks together are sent to the client together. */
  #gather(): Promise<void> {
    return new Promise((resolve) => this.#schedule(GATHER_MS, resolve))
  }

  /** Opens the state that the client sent back. Throws if it is invalid, or if the call it names is lost. */
  async #open(state: unknown, boundTo: () => string): Promise<Opened> {
    if (state === undefined) return { kind: 'new' }
    const content = typeof state === 'string' ? await this.#states.open(state, boundTo()) : undefined
    if (!content) return this.#openUnknown(state)
    if (typeof content.requestState === 'string') return { kind: 'new', requestState: content.requestState }
    const { parked: id, holder } = content
    if (typeof id !== 'string') return { kind: 'new' }
    const call = this.#take(id)
    if (call) return { kind: 'here', call }
    const replicas = this.#replicas
    // Even one that was parked here: another replica may have continued it, and its result may not have arrived.
    if (replicas && typeof holder === 'string')
      return { kind: 'elsewhere', replicas, parked: { holder, call: id } }
    return this.#lost(id, invalidState())
  }

  /**
   * A state that cannot be opened here may be another replica's: if Redis was away, that one sealed it with its own key.
   */
  #openUnknown(state: unknown): Opened {
    const replicas = this.#replicas
    if (replicas && typeof state === 'string') {
      const { parked: call, holder } = this.#states.peek(state) ?? {}
      if (typeof call === 'string' && typeof holder === 'string' && holder !== replicas.id)
        return { kind: 'elsewhere', replicas, parked: { holder, call, unchecked: state } }
    }
    if (this.#states.isSure) throw invalidState()
    throw new RpcError(REFUSED, 'the requestState cannot be checked now; try again', { retryAfterMs: 1_000 })
  }

  /** Throws the error for a call that no replica has: its process may be gone. */
  async #lost(id: string, error: unknown): Promise<never> {
    if (error instanceof UnreachableReplica) throw error
    const isLost = await this.#records.has(id)
    void this.#records.remove(id)
    throw isLost ? new RpcError(INTERNAL_ERROR, LOST) : error
  }

  async #park(call: PendingCall, boundTo: string, isEarly: boolean): Promise<string> {
    if (this.#parked.size >= this.#limits.maxParked && !this.#unparkOne(call.principal)) {
      call.abandon(CROWDED)
      throw new RpcError(REFUSED, CROWDED)
    }
    const id = this.#newId()
    const stopTimer = this.#schedule(this.#limits.askTimeoutMs, () => {
      this.#take(id)
      call.abandon('the client did not answer in time')
    })
    this.#parked.set(id, { call, stopTimer, isRecorded: !isEarly })
    if (!isEarly) await this.#records.add(id)
    return this.#states.seal({ parked: id, holder: this.#replicas?.id }, boundTo)
  }

  /** Cancels the oldest call of the client with the most, if that has more than the newcomer. */
  #unparkOne(newcomer: string): boolean {
    const parked = [...this.#parked]
    const holder = surplusHolder(
      parked.map(([, { call }]) => call.principal),
      newcomer,
    )
    const oldest = parked.find(([, { call }]) => call.principal === holder)
    if (oldest) this.#take(oldest[0])?.abandon(CROWDED)
    return oldest !== undefined
  }

  #take(id: string): PendingCall | undefined {
    const found = this.#parked.get(id)
    if (!found) return undefined
    this.#parked.delete(id)
    if (found.isRecorded) void this.#records.remove(id)
    found.stopTimer()
    return found.call
  }
}
