import type { ProgressNote } from '@toolcrib/core'
import { type ClientLine, canAnswer, missingCapability, type RequestWire } from '../asks/client-line.ts'
import { INTERNAL_ERROR, isJson, type Json, RpcError } from '../json-rpc.ts'
import { isLoud } from '../lists/log-levels.ts'
import { CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY } from '../protocol.ts'

/** A request of a modern client, with the answers it contains. */
export interface ModernRequest extends RequestWire {
  /** What the protocol says about the client: its info, capabilities and log level. */
  readonly envelope: Json
  /** The answers to questions that were the result of an earlier request. */
  readonly inputResponses: Json
  readonly requestState: unknown
}

/** A question of a server. */
interface Question {
  readonly key: string
  readonly method: string
  readonly params: Json | undefined
  /** Whether no server works on the call yet. */
  readonly isEarly: boolean
  readonly answer: (answer: Json) => void
  readonly refuse: (error: Error) => void
}

/** The state of a call: done, or waiting for answers of its client. */
export type Progressed =
  | { readonly kind: 'done'; readonly result: Json }
  | { readonly kind: 'asking'; readonly inputRequests: Json; readonly isEarly: boolean }

/**
 * A call of a modern client. When an older server asks a question, the call is parked: the client gets the question as
 * the result of its request, and the call continues with the client's next request, which has the answer.
 */
export class PendingCall implements ClientLine {
  readonly era = 'modern'
  readonly owner: string
  readonly principal: string
  readonly #abort = new AbortController()
  readonly #questions: Question[] = []
  #request: ModernRequest
  #work: Promise<Json> | undefined
  #isStarted = false
  #isSettled = false
  /** Whether the client has the questions, and the call waits for its next request. */
  #isParked = false
  /** Ends the call at once, because its client cannot answer a question. */
  #failure: RpcError | undefined
  #asked = 0
  #wake = () => {}

  constructor(
    request: ModernRequest,
    { owner, principal }: { readonly owner: string; readonly principal: string },
  ) {
    this.owner = owner
    this.principal = principal
    this.#request = request
    this.#follow(request)
  }

  get client(): string {
    return JSON.stringify([this.principal, this.clientInfo, this.capabilities])
  }

  get clientInfo(): unknown {
    return this.#request.envelope[CLIENT_INFO_KEY]
  }

  get capabilities(): Json {
    const declared = this.#request.envelope[CAPABILITIES_KEY]
    return isJson(declared) ? declared : {}
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get wantsProgress(): boolean {
    return this.#request.meta.progressToken !== undefined
  }

  get logLevel(): string | undefined {
    const level = this.#request.envelope[LOG_LEVEL_KEY]
    return typeof level === 'string' ? level : undefined
  }

  /** Starts the work; it is cancelled if the client disconnects while no question is open. */
  start(work: (line: ClientLine) => Promise<Json>): void {
    this.#isStarted = true
    this.#work = work(this).finally(() => {
      this.#isSettled = true
      this.#wake()
    })
    this.#work.catch(() => {})
  }

  /**
   * Waits until the work is done or needs an answer; in that case `gather` gives further questions time to arrive.
   * Rejects as the work does.
   */
  async next(gather: () => Promise<void>): Promise<Progressed> {
    while (!this.#isOver && this.#questions.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    const isEarly = this.#questions.every((question) => question.isEarly)
    if (!this.#isOver && !isEarly) await gather()
    if (this.#failure) throw this.#failure
    if (this.#isSettled) return { kind: 'done', result: (await this.#work) ?? {} }
    this.#isParked = true
    const asked = this.#questions.map(({ key, method, params }) => [key, { method, params: params ?? {} }])
    return { kind: 'asking', inputRequests: Object.fromEntries(asked), isEarly }
  }

  /** Continues with a request that answers the questions. Questions without an answer are refused. */
  resume(request: ModernRequest, responses: Json): void {
    this.#request = request
    this.#isParked = false
    this.#follow(request)
    for (const { key, answer, refuse } of this.#questions.splice(0)) {
      const response = responses[key]
      if (isJson(response)) answer(response)
      else refuse(new RpcError(INTERNAL_ERROR, 'the client did not answer'))
    }
  }

  /** Cancels the call. */
  abandon(reason: string): void {
    for (const { refuse } of this.#questions.splice(0)) refuse(new RpcError(INTERNAL_ERROR, reason))
    this.#abort.abort(new Error(reason))
  }

  progress(note: ProgressNote): void {
    const { progressToken } = this.#request.meta
    if (progressToken === undefined || this.#isParked) return
    this.#request.notify('notifications/progress', { ...note, progressToken })
  }

  log(params: Json): void {
    const { logLevel } = this
    if (logLevel === undefined || this.#isParked || !isLoud(params.level, logLevel)) return
    this.#request.notify('notifications/message', params)
  }

  ask(method: string, params: Json | undefined, signal: AbortSignal, isEarly = false): Promise<Json> {
    // The result of any other request cannot be a question.
    if (!this.#isStarted)
      return Promise.reject(new RpcError(INTERNAL_ERROR, 'the client cannot be asked now'))
    if (!canAnswer(this.capabilities, method, params)) {
      this.#failure = missingCapability(method, params)
      this.#abort.abort(this.#failure)
      this.#wake()
      return Promise.reject(this.#failure)
    }
    return new Promise((answer, refuse) => {
      const question = { key: `question-${++this.#asked}`, method, params, isEarly, answer, refuse }
      this.#questions.push(question)
      signal.addEventListener('abort', () => this.#withdraw(question), { once: true })
      this.#wake()
    })
  }

  flushed(): Promise<void> {
    return this.#request.flushed()
  }

  get #isOver(): boolean {
    return this.#isSettled || this.#failure !== undefined
  }

  #withdraw(question: Question): void {
    const at = this.#questions.indexOf(question)
    if (at >= 0) this.#questions.splice(at, 1)
    question.refuse(new Error('the server withdrew its question'))
  }

  #follow({ signal }: ModernRequest): void {
    const ended = () => {
      // A parked call outlives the request that started it.
      if (!this.#isParked && this.#request.signal === signal)
        this.#abort.abort(new Error('the client cancelled'))
    }
    if (signal.aborted) ended()
    else signal.addEventListener('abort', ended, { once: true })
  }
}
