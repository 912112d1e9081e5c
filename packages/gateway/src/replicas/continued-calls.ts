import type { Schedule } from '@toolcrib/mcp'
import type { AskLimits } from '../asks/client-line.ts'
import type { Limits } from '../gateway-options.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, isJson, type Json, RpcError } from '../json-rpc.ts'
import type { ModernRequest } from '../modern/pending-call.ts'
import type { ReplicaMessenger, ReplicaOptions } from './replica-messenger.ts'

/** Continues calls that are parked here. */
export interface ParkedWork {
  /** Continues a call that is parked here; undefined when it is not. */
  resume(call: string, boundTo: string, request: ModernRequest): Promise<Json> | undefined
  /** Whether a requestState was sealed here, for this call. */
  hasSealed(state: string, call: string, boundTo: string): Promise<boolean>
}

/** The outcome of a call: its result, or a protocol error. */
export type CallEnd = { readonly result: Json } | { readonly error: RpcError }

/** The error for a client that continues a call that does not exist. */
export function invalidState(): RpcError {
  return new RpcError(INVALID_PARAMS, 'Invalid or expired requestState')
}

/** A parked call that another replica asked to continue. */
interface ContinuedCall {
  readonly outcome: Promise<CallEnd>
  readonly abort: AbortController
}

/** How often this replica reports that it is alive, while another waits for a call. */
const ALIVE_MS = 5_000
/** How many requests of other replicas are remembered, because one may arrive twice. */
const MAX_SEEN = 1_000

/** Continues calls that are parked here for other replicas, whose clients sent the answers. */
export class ContinuedCalls {
  readonly #schedule: Schedule
  readonly #messenger: ReplicaMessenger
  readonly #work: ParkedWork
  readonly #kept: KeptCalls
  /** The calls that others wait for, by the id of their request. */
  readonly #served = new Map<string, ContinuedCall>()
  readonly #seen = new Set<string>()

  constructor(
    options: Pick<ReplicaOptions, 'schedule' | 'limits'>,
    messenger: ReplicaMessenger,
    work: ParkedWork,
  ) {
    this.#schedule = options.schedule
    this.#messenger = messenger
    this.#work = work
    this.#kept = new KeptCalls(options)
  }

  /** The outcome of a call that was continued for another replica; undefined if there is no such call. */
  async outcomeOf(call: string, boundTo: string): Promise<CallEnd | undefined> {
    return this.#kept.find(call, boundTo)?.outcome
  }

  /** Continues a call for another replica, whose client sent the answer, and sends it the outcome. */
  async resume(message: Json): Promise<void> {
    const { from: to } = message
    const reply = String(message.reply)
    if (this.#seen.has(reply)) return
    this.#seen.add(reply)
    if (this.#seen.size > MAX_SEEN) this.#seen.delete(this.#seen.values().next().value ?? '')
    const continued = (await this.#isGenuine(message)) ? this.#continue(message) : undefined
    if (!continued) {
      await this.#messenger.sendOrQueue('resumed', { to, reply, ...messageOf({ error: invalidState() }) })
      return
    }
    this.#served.set(reply, continued)
    const stopReporting = this.#reportAlive({ to, reply })
    const outcome = await continued.outcome
    stopReporting()
    this.#served.delete(reply)
    await this.#messenger.sendOrQueue('resumed', { to, reply, ...messageOf(outcome) })
  }

  /** Cancels the call that a request of another replica continues. */
  abandon(reply: string): void {
    this.#served.get(reply)?.abort.abort(new Error('the client cancelled'))
  }

  close(): void {
    this.#kept.close('the gateway is stopping')
  }

  /** Whether the client may continue this call: the other replica has checked that, if it could. */
  async #isGenuine({ unchecked, call, boundTo }: Json): Promise<boolean> {
    return unchecked === undefined || this.#work.hasSealed(String(unchecked), String(call), String(boundTo))
  }

  /** Continues a call that is parked here, or finds it if it was continued before; otherwise undefined. */
  #continue(message: Json): ContinuedCall | undefined {
    const { from: to, reply } = message
    const [call, boundTo] = [String(message.call), String(message.boundTo)]
    const known = this.#kept.find(call, boundTo)
    if (known) return known
    const abort = new AbortController()
    const notify = (method: string, params: Json) =>
      void this.#messenger.send('notice', { to, reply, method, params })
    const working = this.#work.resume(call, boundTo, new RemoteRequest(message, abort.signal, notify))
    if (!working) return undefined
    const outcome = working.then(
      (result): CallEnd => ({ result }),
      (thrown: unknown) => ({ error: RpcError.from(thrown) }),
    )
    const continued = { outcome, abort }
    this.#kept.add(call, boundTo, continued)
    return continued
  }

  /** Reports now and periodically that this replica is alive, until the returned function is called. */
  #reportAlive(message: Json): () => void {
    let stop = () => {}
    const report = () => {
      void this.#messenger.send('alive', message)
      stop = this.#schedule(ALIVE_MS, report)
    }
    report()
    return () => stop()
  }
}

/** How many characters of JSON are kept of finished calls. */
const MAX_KEPT_CHARS = 32_000_000

interface Kept extends ContinuedCall {
  readonly boundTo: string
  chars: number
  stopTimer(): void
}

/**
 * The replica that asked for a call may not get its outcome, and its client may ask again anywhere, so outcomes are kept
 * for as long as the client's `requestState` is valid, within a limit.
 */
class KeptCalls {
  readonly #limits: Pick<Limits, 'askTimeoutMs'>
  readonly #schedule: Schedule
  /** By the id of the parked call, oldest first. */
  readonly #calls = new Map<string, Kept>()
  #chars = 0

  constructor({ limits, schedule }: { limits: Pick<Limits, 'askTimeoutMs'>; schedule: Schedule }) {
    this.#limits = limits
    this.#schedule = schedule
  }

  /** The call with this id, if it was continued for the same client and request. */
  find(id: string, boundTo: string): ContinuedCall | undefined {
    const call = this.#calls.get(id)
    return call?.boundTo === boundTo ? call : undefined
  }

  add(id: string, boundTo: string, call: ContinuedCall): void {
    const kept: Kept = { ...call, boundTo, chars: 0, stopTimer: () => {} }
    this.#calls.set(id, kept)
    void call.outcome.then((outcome) => this.#ended(id, kept, outcome))
  }

  /** Cancels running calls, and forgets all. */
  close(reason: string): void {
    for (const [id, { abort }] of [...this.#calls]) {
      abort.abort(new Error(reason))
      this.#forget(id)
    }
  }

  #ended(id: string, kept: Kept, outcome: CallEnd): void {
    if (this.#calls.get(id) !== kept) return
    kept.chars = JSON.stringify(messageOf(outcome)).length
    kept.stopTimer = this.#schedule(this.#limits.askTimeoutMs, () => this.#forget(id))
    this.#chars += kept.chars
    for (const [oldest, { chars }] of this.#calls) {
      if (this.#chars <= MAX_KEPT_CHARS) return
      // Running calls have no size yet, and are not forgotten.
      if (chars > 0) this.#forget(oldest)
    }
  }

  #forget(id: string): void {
    const kept = this.#calls.get(id)
    if (!kept) return
    kept.stopTimer()
    this.#calls.delete(id)
    this.#chars -= kept.chars
  }
}

/** An outcome as it is sent to another replica. */
function messageOf(outcome: CallEnd): Json {
  if ('result' in outcome) return outcome
  const { code, message, data } = outcome.error
  return { error: { code, message, data } }
}

/** A request that arrived at another replica. */
class RemoteRequest implements ModernRequest {
  readonly signal: AbortSignal
  readonly meta: Json
  readonly envelope: Json
  readonly inputResponses: Json
  readonly requestState = undefined
  readonly #notify: (method: string, params: Json) => void

  constructor(message: Json, signal: AbortSignal, notify: (method: string, params: Json) => void) {
    const { meta, envelope, inputResponses } = message
    this.signal = signal
    this.meta = isJson(meta) ? meta : {}
    this.envelope = isJson(envelope) ? envelope : {}
    this.inputResponses = isJson(inputResponses) ? inputResponses : {}
    this.#notify = notify
  }

  notify(method: string, params: Json): void {
    this.#notify(method, params)
  }

  ask(method: string, _params: Json | undefined, _limits: AskLimits): Promise<Json> {
    return Promise.reject(new RpcError(INTERNAL_ERROR, `modern clients are not sent ${method}`))
  }

  async flushed(): Promise<void> {}
}
