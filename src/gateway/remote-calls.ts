import type { Schedule } from 'toolcrib/mcp'
import type { AskLimits } from './client-line.ts'
import { type CallOutcome, type ContinuedCall, ContinuedCalls } from './continued-calls.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, isJson, type Json, REFUSED, RpcError } from './json-rpc.ts'
import type { ModernRequest } from './pending-call.ts'
import type { ReplicaMessenger, ReplicaServices } from './replica-messenger.ts'
import type { RollCall } from './roll-call.ts'

/** Continues calls that are parked here. */
export interface ParkedWork {
  /** Continues a call that is parked here; undefined when it is not. */
  resume(call: string, boundTo: string, request: ModernRequest): Promise<Json> | undefined
  /** Whether a requestState was sealed here, for this call. */
  hasSealed(state: string, call: string, boundTo: string): Promise<boolean>
}

/** A parked call, as identified by the client's requestState. */
export interface ParkedElsewhere {
  readonly holder: string
  readonly call: string
  /**
   * The requestState itself, if it was sealed with an unknown key: only the replica that holds the call can check it.
   */
  readonly unchecked?: string
}

/** How long the replica that holds a call may be silent, and how often it reports that it is alive. */
const SILENCE_MS = 15_000
const FIRST_WORD_MS = 3_000
const ALIVE_MS = 5_000
/** How long a request waits until the others can be reached, and for a replica that is alive but silent. */
const REACH_MS = 20_000
const RETRY_MS = 500
/** How many requests of other replicas are remembered, because one may arrive twice. */
const MAX_SEEN = 1_000

/** A request that this replica passed on, and whose outcome it waits for. */
interface Awaited {
  readonly request: ModernRequest
  wasAlive(): void
  settle(outcome: Json): void
}

/** The replica that holds a call is silent but may be alive: the call continues, and its state stays valid. */
export class UnreachableReplica extends RpcError {
  constructor() {
    super(REFUSED, 'the replica that holds this call cannot be reached; try again', {
      retryAfterMs: 1_000,
    })
  }
}

/** Calls that run at one replica while their client is connected to another. */
export class RemoteCalls {
  readonly #services: Pick<ReplicaServices, 'schedule' | 'newId' | 'limits'>
  readonly #schedule: Schedule
  readonly #messenger: ReplicaMessenger
  readonly #rollCall: Pick<RollCall, 'isAlive'>
  readonly #work: ParkedWork
  readonly #awaited = new Map<string, Awaited>()
  readonly #continued: ContinuedCalls
  /** The calls that others wait for, by the id of their request. */
  readonly #served = new Map<string, ContinuedCall>()
  readonly #seen = new Set<string>()
  #isClosed = false

  constructor(
    services: Pick<ReplicaServices, 'schedule' | 'newId' | 'limits'>,
    {
      messenger,
      rollCall,
    }: { readonly messenger: ReplicaMessenger; readonly rollCall: Pick<RollCall, 'isAlive'> },
    work: ParkedWork,
  ) {
    this.#services = services
    this.#schedule = services.schedule
    this.#messenger = messenger
    this.#rollCall = rollCall
    this.#work = work
    this.#continued = new ContinuedCalls(services)
  }

  /** Asks the replica that holds a parked call to continue it, and returns the outcome. */
  async resume(parked: ParkedElsewhere, boundTo: string, request: ModernRequest): Promise<Json> {
    const { holder, call, unchecked } = parked
    if (holder === this.#messenger.id)
      return resultOf((await this.#continued.find(call, boundTo)?.outcome) ?? {})
    const reply = this.#services.newId()
    const { meta, envelope, inputResponses, signal } = request
    const { outcome, watch } = this.#outcomeOf(reply, holder, request)
    const abandon = () => void this.#messenger.sendOrQueue('abandon', { to: holder, reply })
    signal.addEventListener('abort', abandon, { once: true })
    try {
      await this.#sendUntil(signal, 'resume', {
        ...{ to: holder, reply, from: this.#messenger.id, call, boundTo, unchecked },
        ...{ meta, envelope, inputResponses },
      })
      watch()
      return resultOf(await outcome)
    } finally {
      signal.removeEventListener('abort', abandon)
      this.#awaited.get(reply)?.settle({})
    }
  }

  /** Handles a message of another replica about a call. */
  async receive(topic: string, message: Json): Promise<void> {
    const reply = String(message.reply)
    if (topic === 'resume') await this.#serve(message)
    if (topic === 'abandon') this.#served.get(reply)?.abort.abort(new Error('the client cancelled'))
    const awaited = this.#awaited.get(reply)
    if (topic === 'alive') awaited?.wasAlive()
    if (topic === 'notice' && isJson(message.params))
      awaited?.request.notify(String(message.method), message.params)
    if (topic === 'resumed') awaited?.settle(message)
  }

  close(): void {
    this.#isClosed = true
    for (const { settle } of this.#awaited.values()) settle({ error: { message: 'the gateway is stopping' } })
    this.#continued.close('the gateway is stopping')
  }

  /** Sends a message as soon as the others can be reached. Throws if that takes too long. */
  async #sendUntil(signal: AbortSignal, topic: string, message: Json): Promise<void> {
    for (let tries = 1; tries <= REACH_MS / RETRY_MS && !signal.aborted && !this.#isClosed; tries++) {
      if (await this.#messenger.send(topic, message)) return
      await new Promise<void>((resolve) => void this.#schedule(RETRY_MS, resolve))
    }
    throw new UnreachableReplica()
  }

  /** Resolves with the outcome, or when the other replica is gone or, once `watch` was called, stays silent. */
  #outcomeOf(reply: string, holder: string, request: ModernRequest) {
    let stop = () => {}
    let settle: (outcome: Json) => void = () => {}
    const outcome = new Promise<Json>((resolve) => {
      settle = (settled) => {
        stop()
        this.#awaited.delete(reply)
        resolve(settled)
      }
    })
    const wait = (silence: Silence) => {
      stop()
      const cancel = this.#schedule(silence.nextMs, async () => {
        const error = silence.verdict(await this.#rollCall.isAlive(holder))
        // It has ended, or the replica has sent something meanwhile.
        if (!this.#awaited.has(reply) || stop !== cancel) return
        if (error) settle({ error })
        else wait(silence)
      })
      stop = cancel
    }
    // A replica that does not answer at all has no such call, or is gone together with its calls.
    const watch = () => wait(new Silence({ nextMs: FIRST_WORD_MS, mostMs: REACH_MS }, invalidState()))
    const gone = new RpcError(REFUSED, 'the replica that ran this call is gone')
    const { askTimeoutMs: mostMs } = this.#services.limits
    const wasAlive = () => wait(new Silence({ nextMs: SILENCE_MS, mostMs }, gone))
    this.#awaited.set(reply, { request, settle, wasAlive })
    return { outcome, watch }
  }

  /** Continues a call for another replica, whose client sent the answer. */
  async #serve(message: Json): Promise<void> {
    const { from: to } = message
    const reply = String(message.reply)
    if (this.#seen.has(reply)) return
    this.#seen.add(reply)
    if (this.#seen.size > MAX_SEEN) this.#seen.delete(this.#seen.values().next().value ?? '')
    const continued = (await this.#isGenuine(message)) ? this.#continue(message) : undefined
    if (!continued) {
      await this.#messenger.sendOrQueue('resumed', { to, reply, error: jsonOf(invalidState()) })
      return
    }
    this.#served.set(reply, continued)
    let stop = () => {}
    const sendAlive = () => {
      void this.#messenger.send('alive', { to, reply })
      stop = this.#schedule(ALIVE_MS, sendAlive)
    }
    sendAlive()
    const outcome = await continued.outcome
    stop()
    this.#served.delete(reply)
    await this.#messenger.sendOrQueue('resumed', { to, reply, ...outcome })
  }

  /** Whether the client may continue this call: the other replica has checked that, if it could. */
  async #isGenuine({ unchecked, call, boundTo }: Json): Promise<boolean> {
    return unchecked === undefined || this.#work.hasSealed(String(unchecked), String(call), String(boundTo))
  }

  /** Continues a call that is parked here, or finds it if it was continued before; otherwise undefined. */
  #continue(message: Json): ContinuedCall | undefined {
    const { from: to, reply } = message
    const [call, boundTo] = [String(message.call), String(message.boundTo)]
    const known = this.#continued.find(call, boundTo)
    if (known) return known
    const abort = new AbortController()
    const notify = (method: string, params: Json) =>
      void this.#messenger.send('notice', { to, reply, method, params })
    const working = this.#work.resume(call, boundTo, new RemoteRequest(message, abort.signal, notify))
    if (!working) return undefined
    const outcome = working.then(
      (result): CallOutcome => ({ result }),
      (thrown: unknown) => ({ error: jsonOf(RpcError.from(thrown)) }),
    )
    const continued = { outcome, abort }
    this.#continued.add(call, boundTo, continued)
    return continued
  }
}

/** The result of a continued call. Throws its error, or an error if there is no such call. */
function resultOf({ result, error }: { readonly result?: unknown; readonly error?: unknown }): Json {
  if (isJson(result)) return result
  if (error instanceof RpcError) throw error
  if (!isJson(error)) throw invalidState()
  throw new RpcError(Number(error.code ?? REFUSED), String(error.message), error.data)
}

function jsonOf({ code, message, data }: RpcError): Json {
  return { code, message, data }
}

function invalidState(): RpcError {
  return new RpcError(INVALID_PARAMS, 'Invalid or expired requestState')
}

/** Tracks how long a replica has been silent. */
class Silence {
  readonly nextMs: number
  readonly #mostMs: number
  readonly #gone: RpcError
  #passedMs = 0

  /** Checks every `nextMs` whether the replica is still alive; if not, its calls are `gone`. */
  constructor({ nextMs, mostMs }: { readonly nextMs: number; readonly mostMs: number }, gone: RpcError) {
    this.nextMs = nextMs
    this.#mostMs = mostMs
    this.#gone = gone
  }

  /** Why to stop waiting; undefined while waiting makes sense. */
  verdict(isAlive: boolean | undefined): RpcError | undefined {
    this.#passedMs += this.nextMs
    if (isAlive === false) return this.#gone
    return this.#passedMs < this.#mostMs ? undefined : new UnreachableReplica()
  }
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
