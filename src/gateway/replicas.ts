import type { Schedule } from 'toolcrib/mcp'
import {
  type Announcement,
  type Announcements,
  type JsonValue,
  MAX_ANNOUNCEMENT_CHARS,
  type Store,
} from 'toolcrib/stores'
import { CatchUp } from './catch-up.ts'
import type { AskLimits, Json } from './client-line.ts'
import type { ModernRequest } from './pending-call.ts'
import { type Held, RollCall } from './roll-call.ts'
import { RpcError } from './rpc-error.ts'
import { isJson } from './upstream.ts'

/** What is said by one replica and done by another. */
export interface ReplicaWork {
  /** Takes a message of an older client, if its session is open here. */
  take(session: string, message: Json): void
  /** The client ended this session at another replica. */
  ended(session: string): void
  /** Another replica looks for this session, and the store does not have it. Returns whether it is open here. */
  wanted(session: string): boolean
  /** Continues a call that is parked here; undefined when it is not. */
  resume(call: string, boundTo: string, request: ModernRequest): Promise<Json> | undefined
  /** Another replica found another list of tools at a server. */
  listChanged(server: string, digest: string): void
  /** Another replica read its config or lockfile again. */
  reloaded(): void
  /** Messages were missed. */
  missed(): void
}

interface Replicating {
  readonly announcements: Announcements
  readonly store: Store | undefined
  readonly schedule: Schedule
  readonly newId: () => string
  readonly warn: (warning: string) => void
}

/** How long a replica that holds a call may take to say that it is there, and how often it says so. */
const SILENCE_MS = 15_000
const FIRST_WORD_MS = 3_000
const ALIVE_MS = 5_000
/** A result that is too long for an announcement is kept in the store for so long. */
const KEPT_MS = 60_000
const UNREACHABLE = -32_000
const INVALID_PARAMS = -32_602

/** A request that this replica passed on, and whose outcome it waits for. */
interface Awaited {
  readonly request: ModernRequest
  heard(): void
  settle(outcome: Json): void
}

/** What a gateway says to the other replicas, and does for them. */
export class Replicas {
  /** Names this replica to the others. */
  readonly id: string
  readonly #parts: Replicating
  readonly #work: ReplicaWork
  readonly #unsubscribe: () => void
  readonly #awaited = new Map<string, Awaited>()
  readonly #served = new Map<string, AbortController>()
  readonly #rollCall: RollCall
  readonly #catchUp: CatchUp

  constructor(parts: Replicating, work: ReplicaWork) {
    this.#parts = parts
    this.#work = work
    this.id = parts.newId()
    const { announcements, schedule } = parts
    this.#rollCall = new RollCall(
      this.id,
      announcements,
      (topic, message) => this.#say(topic, message),
      schedule,
    )
    this.#catchUp = new CatchUp(this.id, () => work.missed(), schedule)
    this.#unsubscribe = announcements.subscribe({
      announced: (announcement) => void this.#hear(announcement),
      missed: () => this.#catchUp.begin(),
    })
    void this.#rollCall.begin()
  }

  /** Passes on a message of an older client whose request or question is not known here. */
  relay(session: string, message: Json): void {
    void this.#say('client-message', { session, message })
  }

  ended(session: string): void {
    void this.#say('session-ended', { session })
  }

  /** Asks for a session that the store does not have: whoever has it open says so, and writes it again. */
  wanted(session: string): Promise<Held> {
    return this.#rollCall.ask(session)
  }

  listChanged(server: string, digest: string): void {
    void this.#say('list-changed', { server, digest })
  }

  reloaded(): void {
    void this.#say('reloaded', {})
  }

  /** Has the replica that holds a parked call continue it, and returns what came of it. */
  async resume(
    { holder, call }: { readonly holder: string; readonly call: string },
    boundTo: string,
    request: ModernRequest,
  ): Promise<Json> {
    const reply = this.#parts.newId()
    const { meta, envelope, inputResponses, signal } = request
    const outcome = this.#outcomeOf(reply, request)
    const abandon = () => void this.#say('abandon', { to: holder, reply })
    signal.addEventListener('abort', abandon, { once: true })
    try {
      const isSaid = await this.#say('resume', {
        ...{ to: holder, reply, from: this.id, call, boundTo },
        ...{ meta, envelope, inputResponses },
      })
      if (!isSaid) throw unreachable()
      const { result, error } = await outcome
      if (isJson(result)) return result
      const { code, message, data } = isJson(error) ? error : {}
      throw new RpcError(Number(code ?? UNREACHABLE), String(message), data)
    } finally {
      signal.removeEventListener('abort', abandon)
      this.#awaited.get(reply)?.settle({})
    }
  }

  close(): void {
    this.#unsubscribe()
    this.#catchUp.close()
    this.#rollCall.close()
    void this.#say('left', {})
    for (const { settle } of this.#awaited.values()) settle({ error: { message: 'the gateway is stopping' } })
    for (const abort of this.#served.values()) abort.abort(new Error('the gateway is stopping'))
  }

  /** Resolves with an outcome, also when the other replica falls silent. */
  #outcomeOf(reply: string, request: ModernRequest): Promise<Json> {
    return new Promise((resolve) => {
      let stop = () => {}
      const settle = (outcome: Json) => {
        stop()
        this.#awaited.delete(reply)
        resolve(outcome)
      }
      const wait = (ms: number, error: RpcError) => {
        stop()
        stop = this.#parts.schedule(ms, () => settle({ error }))
      }
      // Whoever does not answer at all is gone, and its calls with it.
      wait(FIRST_WORD_MS, new RpcError(INVALID_PARAMS, 'Invalid or expired requestState'))
      this.#awaited.set(reply, {
        request,
        settle,
        heard: () => wait(SILENCE_MS, new RpcError(UNREACHABLE, 'the replica that ran this call is gone')),
      })
    })
  }

  async #hear({ topic, body }: Announcement): Promise<void> {
    if (isJson(body) && body.by !== this.id) this.#rollCall.heard(String(body.by))
    const message = isJson(body) ? await this.#whole(body) : undefined
    if (!message || message.by === this.id || (message.to !== undefined && message.to !== this.id)) return
    const { session, server, digest, reply, by } = message
    if (topic === 'client-message' && isJson(message.message))
      this.#work.take(String(session), message.message)
    if (topic === 'session-ended') this.#work.ended(String(session))
    if (topic === 'left') this.#rollCall.left(String(by))
    if (topic === 'session-wanted')
      this.#rollCall.reply(String(by), String(session), this.#work.wanted(String(session)))
    if (topic === 'sessions-found' && Array.isArray(message.answers))
      for (const answer of message.answers.filter(isJson))
        if (answer.to === this.id)
          this.#rollCall.answered(String(answer.session), String(by), answer.isHeld === true)
    if (topic === 'list-changed') this.#work.listChanged(String(server), String(digest))
    if (topic === 'reloaded') this.#work.reloaded()
    if (topic === 'resume') await this.#serve(message)
    if (topic === 'abandon') this.#served.get(String(reply))?.abort(new Error('the client cancelled'))
    const awaited = this.#awaited.get(String(reply))
    if (topic === 'alive') awaited?.heard()
    if (topic === 'notice' && isJson(message.params))
      awaited?.request.notify(String(message.method), message.params)
    if (topic === 'resumed') awaited?.settle(message)
  }

  /** Continues a call for another replica, whose client sent the answer. */
  async #serve(message: Json): Promise<void> {
    const { from: to, reply } = message
    const abort = new AbortController()
    const request = new RemoteRequest(
      message,
      abort.signal,
      (method, params) => void this.#say('notice', { to, reply, method, params }),
    )
    const working = this.#work.resume(String(message.call), String(message.boundTo), request)
    if (!working) {
      const error = { code: INVALID_PARAMS, message: 'Invalid or expired requestState' }
      await this.#say('resumed', { to, reply, error })
      return
    }
    this.#served.set(String(reply), abort)
    let stop = () => {}
    const sayAlive = () => {
      void this.#say('alive', { to, reply })
      stop = this.#parts.schedule(ALIVE_MS, sayAlive)
    }
    sayAlive()
    try {
      await this.#say('resumed', { to, reply, result: await working })
    } catch (thrown) {
      const { code, message: text, data } = RpcError.from(thrown)
      await this.#say('resumed', { to, reply, error: { code, message: text, data } })
    } finally {
      stop()
      this.#served.delete(String(reply))
    }
  }

  /** Returns false, and warns, when the message could not be sent. */
  async #say(topic: string, message: Json): Promise<boolean> {
    try {
      const { announcements, store, newId } = this.#parts
      const { to } = message
      const said = { ...message, by: this.id }
      // What came from clients and servers arrived as JSON.
      const text = JSON.stringify(said)
      if (text.length <= MAX_ANNOUNCEMENT_CHARS) {
        await announcements.publish(topic, JSON.parse(text) as JsonValue)
        return true
      }
      const key = `announcement:${newId()}`
      await store?.set(key, text, { ttlMs: KEPT_MS })
      await announcements.publish(topic, {
        kept: key,
        by: this.id,
        ...(to === undefined ? {} : { to: String(to) }),
      })
      return true
    } catch (error) {
      this.#parts.warn(error instanceof Error ? error.message : 'the other replicas cannot be reached')
      return false
    }
  }

  /** The message itself, wherever it is kept. */
  async #whole(message: Json): Promise<Json | undefined> {
    const { kept, to, by } = message
    if (typeof kept !== 'string') return message
    if (by === this.id || (to !== undefined && to !== this.id)) return undefined
    try {
      const text = await this.#parts.store?.get(kept)
      const whole: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
      return isJson(whole) ? whole : undefined
    } catch {
      return undefined
    }
  }
}

/** A request that came to another replica. */
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
    return Promise.reject(new RpcError(-32_603, `modern clients are not sent ${method}`))
  }

  async flushed(): Promise<void> {}
}

function unreachable(): RpcError {
  return new RpcError(UNREACHABLE, 'the replica that holds this call cannot be reached; try again', {
    retryAfterMs: 1_000,
  })
}
