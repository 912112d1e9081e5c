import { traceModelCall } from '../call/trace.ts'
import { ToolcribError } from '../errors.ts'
import type { Reply } from '../reply.ts'
import type { Surface } from '../session/surface.ts'
import type { SpendLimit } from '../usage.ts'
import type { EmitAgent } from './agent-event.ts'
import type { Answer, Model } from './model.ts'
import { type Failure, readFailure } from './read-failure.ts'
import type { Timing } from './timing.ts'

/** When a request is sent again. */
export interface RetryOptions {
  /** How many times after the first; 4. */
  readonly maxRetries?: number
  /** The first pause, if the server names none; 1,000. It doubles each time, minus a random part. */
  readonly baseDelayMs?: number
  /** The longest pause; 120,000. If the server asks for a longer one, the run fails instead of waiting. */
  readonly maxDelayMs?: number
}

export interface AskOptions {
  readonly sessionId: string
  readonly surface: Surface
  readonly mayCall: boolean
  readonly signal: AbortSignal
  readonly timing: Timing
  readonly retry: RetryOptions
  readonly emit: EmitAgent
  /** Called for every answer, including discarded ones: they cost too. */
  onReply(reply: Reply): void
  /** Called before a request is sent again. */
  limitReached(): SpendLimit | undefined
}

/** How the request ended. A cancelled answer contains what had arrived. */
export type AskResult<Response> =
  | { readonly kind: 'answered'; readonly response: Response; readonly reply: Reply }
  | { readonly kind: 'cancelled'; readonly response?: Response; readonly reply?: Reply }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'limit'; readonly limit: SpendLimit }

/**
 * Sends the request until there is a complete answer, a failure that a retry cannot fix, a cancellation, or a reached
 * limit. An answer that was cut off is requested again as a whole: none of its calls has run, so nothing happens twice.
 */
export async function askModel<Message, Request, Response>(
  model: Model<Message, Request, Response>,
  request: Request,
  options: AskOptions,
): Promise<AskResult<Response>> {
  const { signal, timing, retry, emit } = options
  const { maxRetries = 4, maxDelayMs = 120_000 } = retry
  for (let attempt = 1; ; attempt++) {
    const sent = await send(model, request, options)
    if (signal.aborted) return { kind: 'cancelled', ...('response' in sent ? sent : {}) }
    const failure = failureOf(sent, timing.now())
    if (!failure && 'reply' in sent) return { kind: 'answered', response: sent.response, reply: sent.reply }
    const error = errorOf(sent)
    if (!failure?.isPassing || attempt > maxRetries) return { kind: 'failed', error }
    const limit = options.limitReached()
    if (limit) return { kind: 'limit', limit }
    const delayMs = failure.retryAfterMs ?? backoffMs(attempt, timing.random(), retry)
    if (delayMs > maxDelayMs) return { kind: 'failed', error }
    emit({ type: 'retrying', reason: failure.reason, delayMs, attempt })
    await timing.sleep(delayMs, signal)
    if (signal.aborted) return { kind: 'cancelled' }
  }
}

type Sent<Response> = { readonly thrown: unknown } | (Answer<Response> & { readonly reply: Reply })

async function send<Message, Request, Response>(
  model: Model<Message, Request, Response>,
  request: Request,
  options: AskOptions,
): Promise<Sent<Response>> {
  const place = { model: model.id, dialect: model.dialect.name, sessionId: options.sessionId }
  return traceModelCall(place, () => sendOnce(model, request, options))
}

async function sendOnce<Message, Request, Response>(
  model: Model<Message, Request, Response>,
  request: Request,
  { surface, mayCall, signal, emit, onReply }: AskOptions,
): Promise<Sent<Response>> {
  const own = new RequestSignal(signal)
  let answer: Answer<Response>
  try {
    const onText = (text: string) => emit({ type: 'text', text })
    answer = await model.send(request, { signal: own.signal, mayCall, onText })
  } catch (thrown) {
    return { thrown }
  } finally {
    own.close()
  }
  const reply = readReply(model, answer.response, surface)
  if (reply instanceof ToolcribError) return { thrown: reply }
  onReply(reply)
  return { ...answer, reply }
}

/**
 * The signal of one request. Some SDKs leave a listener on the signal they get, and a run's signal serves many
 * requests.
 */
class RequestSignal {
  readonly #controller = new AbortController()
  readonly #run: AbortSignal
  readonly #forward = () => this.#controller.abort(this.#run.reason)

  constructor(run: AbortSignal) {
    this.#run = run
    if (run.aborted) this.#forward()
    run.addEventListener('abort', this.#forward, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  close(): void {
    this.#run.removeEventListener('abort', this.#forward)
  }
}

/** A body without the API's shape, as some proxies send, is a failure like others. */
function readReply<Message, Request, Response>(
  { id, dialect }: Model<Message, Request, Response>,
  response: Response,
  surface: Surface,
): Reply | ToolcribError {
  try {
    return dialect.toReply(response, surface)
  } catch (cause) {
    const problem = `the response of ${id} cannot be read as ${dialect.name}`
    return new ToolcribError('config-invalid', `${problem}; check the address of the server`, { cause })
  }
}

function failureOf(sent: Sent<unknown>, now: number): Failure | undefined {
  if ('thrown' in sent) return readFailure(sent.thrown, now)
  // The provider's own error says whether a retry may help.
  if (sent.reply.error) return readFailure(providerError(sent.reply.error), now)
  if (sent.brokenBy === undefined && sent.reply.stop !== 'cut') return undefined
  const { reason, ...failure } = readFailure(sent.brokenBy ?? CUT, now)
  // Whatever broke it, the provider had accepted the request.
  return { ...failure, reason, isPassing: true }
}

const CUT = new Error('the answer was cut off')

function errorOf(sent: Sent<unknown>): unknown {
  if ('thrown' in sent) return sent.thrown
  return sent.reply.error ? providerError(sent.reply.error) : (sent.brokenBy ?? CUT)
}

function providerError({ message, code }: NonNullable<Reply['error']>): Error {
  // Some servers return the status of their upstream as the code.
  return Object.assign(new Error(message), typeof code === 'number' ? { status: code } : { code })
}

function backoffMs(
  attempt: number,
  random: number,
  { baseDelayMs = 1000, maxDelayMs = 120_000 }: RetryOptions,
): number {
  const longest = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1))
  // Half of it is random, so that many clients do not retry at once.
  return Math.round(longest * (0.5 + random / 2))
}
