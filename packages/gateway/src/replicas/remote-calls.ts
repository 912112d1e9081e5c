import type { Schedule } from '@toolcrib/mcp'
import { isJson, type Json, REFUSED, RpcError } from '../json-rpc.ts'
import type { ModernRequest } from '../modern/pending-call.ts'
import { type CallEnd, ContinuedCalls, invalidState, type ParkedWork } from './continued-calls.ts'
import type { ReplicaMessenger, ReplicaOptions } from './replica-messenger.ts'
import type { SessionLocator } from './session-locator.ts'

/** A parked call, as identified by the client's requestState. */
export interface ParkedElsewhere {
  readonly holder: string
  readonly call: string
  /**
   * The requestState itself, if it was sealed with an unknown key: only the replica that holds the call can check it.
   */
  readonly unchecked?: string
}

/** How long the replica that holds a call may be silent, and how long until it first sends something. */
const SILENCE_MS = 15_000
const FIRST_WORD_MS = 3_000
/** How long a request waits until the others can be reached, and for a replica that is alive but silent. */
const REACH_MS = 20_000
const RETRY_MS = 500

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
  readonly #options: Pick<ReplicaOptions, 'schedule' | 'newId' | 'limits'>
  readonly #schedule: Schedule
  readonly #messenger: ReplicaMessenger
  readonly #locator: Pick<SessionLocator, 'isAlive'>
  /** The calls that other replicas continue for clients of this one, by the id of their request. */
  readonly #awaited = new Map<string, AwaitedCall>()
  #continued: ContinuedCalls | undefined
  #isClosed = false

  constructor(
    options: Pick<ReplicaOptions, 'schedule' | 'newId' | 'limits'>,
    {
      messenger,
      locator,
    }: { readonly messenger: ReplicaMessenger; readonly locator: Pick<SessionLocator, 'isAlive'> },
  ) {
    this.#options = options
    this.#schedule = options.schedule
    this.#messenger = messenger
    this.#locator = locator
  }

  /** Continues calls of this replica for the others from now on. */
  begin(work: ParkedWork): void {
    this.#continued = new ContinuedCalls(this.#options, this.#messenger, work)
  }

  /** Asks the replica that holds a parked call to continue it, and returns the result. */
  async resume(parked: ParkedElsewhere, boundTo: string, request: ModernRequest): Promise<Json> {
    const { holder, call, unchecked } = parked
    if (holder === this.#messenger.id) return resultOf(await this.#continued?.outcomeOf(call, boundTo))
    const reply = this.#options.newId()
    const { meta, envelope, inputResponses, signal } = request
    const awaited = new AwaitedCall(holder, request, this.#locator, this.#options)
    this.#awaited.set(reply, awaited)
    const abandon = () => void this.#messenger.sendOrQueue('abandon', { to: holder, reply })
    signal.addEventListener('abort', abandon, { once: true })
    try {
      await this.#sendUntil(signal, 'resume', {
        ...{ to: holder, reply, from: this.#messenger.id, call, boundTo, unchecked },
        ...{ meta, envelope, inputResponses },
      })
      awaited.wasAsked()
      return resultOf(await awaited.outcome)
    } finally {
      signal.removeEventListener('abort', abandon)
      this.#awaited.delete(reply)
      awaited.stop()
    }
  }

  /** Handles a message of another replica about a call. */
  async receive(topic: string, message: Json): Promise<void> {
    const reply = String(message.reply)
    if (topic === 'resume') await this.#continued?.resume(message)
    if (topic === 'abandon') this.#continued?.abandon(reply)
    const awaited = this.#awaited.get(reply)
    if (topic === 'alive') awaited?.wasAlive()
    if (topic === 'notice' && isJson(message.params))
      awaited?.request.notify(String(message.method), message.params)
    if (topic === 'resumed') awaited?.settle(outcomeOf(message))
  }

  close(): void {
    this.#isClosed = true
    const error = new RpcError(REFUSED, 'the gateway is stopping')
    for (const awaited of this.#awaited.values()) awaited.settle({ error })
    this.#continued?.close()
  }

  /** Sends a message as soon as the others can be reached. Throws if that takes too long. */
  async #sendUntil(signal: AbortSignal, topic: string, message: Json): Promise<void> {
    for (let tries = 1; tries <= REACH_MS / RETRY_MS && !signal.aborted && !this.#isClosed; tries++) {
      if (await this.#messenger.send(topic, message)) return
      await new Promise<void>((resolve) => void this.#schedule(RETRY_MS, resolve))
    }
    throw new UnreachableReplica()
  }
}

/** The result of a continued call. Throws its error, or an error if there is no such call. */
function resultOf(outcome: CallEnd = { error: invalidState() }): Json {
  if ('error' in outcome) throw outcome.error
  return outcome.result
}

/** The outcome in a message of another replica. */
function outcomeOf({ result, error }: Json): CallEnd {
  if (isJson(result)) return { result }
  if (!isJson(error)) return { error: invalidState() }
  return { error: new RpcError(Number(error.code ?? REFUSED), String(error.message), error.data) }
}

/**
 * A call that another replica continues for a client of this one. It fails when that replica is gone, or is silent for
 * too long after it was asked.
 */
class AwaitedCall {
  readonly request: ModernRequest
  readonly outcome: Promise<CallEnd>
  readonly #holder: string
  readonly #locator: Pick<SessionLocator, 'isAlive'>
  readonly #options: Pick<ReplicaOptions, 'schedule' | 'limits'>
  #resolve: (outcome: CallEnd) => void = () => {}
  /** The current silence of the replica; replaced when it sends something. */
  #silence: Silence | undefined
  #stopTimer = () => {}

  constructor(
    holder: string,
    request: ModernRequest,
    locator: Pick<SessionLocator, 'isAlive'>,
    options: Pick<ReplicaOptions, 'schedule' | 'limits'>,
  ) {
    this.#holder = holder
    this.request = request
    this.#locator = locator
    this.#options = options
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** The replica has been asked, and should send something soon. */
  wasAsked(): void {
    // A replica that does not answer at all has no such call, or is gone together with its calls.
    this.#watch(new Silence({ everyMs: FIRST_WORD_MS, mostMs: REACH_MS }, invalidState()))
  }

  /** The replica has reported that it is alive. */
  wasAlive(): void {
    const gone = new RpcError(REFUSED, 'the replica that ran this call is gone')
    const { askTimeoutMs: mostMs } = this.#options.limits
    this.#watch(new Silence({ everyMs: SILENCE_MS, mostMs }, gone))
  }

  settle(outcome: CallEnd): void {
    this.stop()
    this.#resolve(outcome)
  }

  /** Stops watching the replica. */
  stop(): void {
    this.#silence = undefined
    this.#stopTimer()
  }

  #watch(silence: Silence): void {
    this.stop()
    this.#silence = silence
    this.#stopTimer = this.#options.schedule(silence.everyMs, () => void this.#check(silence))
  }

  async #check(silence: Silence): Promise<void> {
    const error = silence.verdict(await this.#locator.isAlive(this.#holder))
    // It has ended, or the replica has sent something meanwhile.
    if (this.#silence !== silence) return
    if (error) this.settle({ error })
    else this.#watch(silence)
  }
}

/** Tracks how long a replica has been silent. */
class Silence {
  readonly everyMs: number
  readonly #mostMs: number
  readonly #gone: RpcError
  #passedMs = 0

  /** Checks every `everyMs` whether the replica is still alive; if not, its calls are `gone`. */
  constructor({ everyMs, mostMs }: { readonly everyMs: number; readonly mostMs: number }, gone: RpcError) {
    this.everyMs = everyMs
    this.#mostMs = mostMs
    this.#gone = gone
  }

  /** Why to stop waiting; undefined while waiting makes sense. */
  verdict(isAlive: boolean | undefined): RpcError | undefined {
    this.#passedMs += this.everyMs
    if (isAlive === false) return this.#gone
    return this.#passedMs < this.#mostMs ? undefined : new UnreachableReplica()
  }
}
