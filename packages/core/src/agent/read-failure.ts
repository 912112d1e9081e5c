import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'

/** What a provider's error says about retrying. */
export interface Failure {
  readonly reason: string
  /** Whether the same request may succeed later: overload, rate limits, a lost connection. */
  readonly isPassing: boolean
  /** How long the server asks to wait. */
  readonly retryAfterMs?: number
}

/**
 * Reads an error of any provider's SDK by its shape, since none of them need be installed: `status` and `headers` if
 * the server responded, a type in the body if the stream itself reported the error.
 */
export function readFailure(error: unknown, now: number): Failure {
  const reason = describeError(error)
  if (!isErrorLike(error)) return { reason, isPassing: false }
  const delayMs = retryAfterMs(error, now)
  return {
    reason,
    isPassing: isPassing(error),
    ...(delayMs === undefined ? {} : { retryAfterMs: delayMs }),
  }
}

type ErrorLike = Record<string, unknown>

function isErrorLike(error: unknown): error is ErrorLike {
  return typeof error === 'object' && error !== null
}

/** Besides 5xx: timeouts, conflicts, too many requests. 529 is Anthropic's "overloaded". */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 429])
const PASSING_TYPES = /overloaded|rate_limit|server_error|api_error|timeout|unavailable/i
const CONNECTION_NAMES = /^(APIConnection(Timeout)?Error|FetchError|SocketError)$/
/** What `fetch` rejects with if it reached no server. Any other TypeError is a bug. */
const FETCH_FAILED = /^(fetch failed|failed to fetch|network ?error|load failed|terminated)/i
const CONNECTION_CODES = /^(ECONN|EPIPE|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR)/

function isPassing(error: ErrorLike): boolean {
  const told = headerOf(error, 'x-should-retry')
  if (told === 'true') return true
  if (told === 'false' || isOutOfCredit(error)) return false
  const status = statusOf(error)
  if (status !== undefined) return status >= 500 || PASSING_STATUSES.has(status)
  return PASSING_TYPES.test(typesOf(error)) || isConnectionError(error) || isCutShort(error)
}

/** A stream that ended inside its first event: the SDKs fail to parse the part that arrived. */
function isCutShort(error: ErrorLike): boolean {
  if (error instanceof SyntaxError && /JSON/.test(error.message)) return true
  return /^(Incomplete JSON segment|exception parsing stream chunk)/.test(String(error.message))
}

/** An account without credit gets the status of a rate limit, but waiting does not help. */
function isOutOfCredit(error: ErrorLike): boolean {
  return /insufficient_quota|credit_balance|billing/.test(`${String(error.code)} ${typesOf(error)}`)
}

function statusOf({ status }: ErrorLike): number | undefined {
  return typeof status === 'number' ? status : undefined
}

/** `type` and `code` of the error and of the body inside it, which is nested once or twice. */
function typesOf(error: ErrorLike): string {
  const types: string[] = []
  let level: unknown = error
  for (let depth = 0; depth < 3 && isErrorLike(level); depth++) {
    types.push(String(level.type ?? ''), String(level.code ?? ''))
    level = level.error
  }
  return types.join(' ')
}

function isConnectionError(error: ErrorLike): boolean {
  const { cause } = error
  const codes = [error.code, isErrorLike(cause) ? cause.code : undefined].map(String)
  const name = constructorNameOf(error)
  if (CONNECTION_NAMES.test(name) || codes.some((code) => CONNECTION_CODES.test(code))) return true
  return name === 'TypeError' && FETCH_FAILED.test(String(error.message))
}

/** The SDKs leave `name` at "Error" and distinguish their errors by class. */
function constructorNameOf(error: ErrorLike): string {
  return typeof error.constructor === 'function' ? error.constructor.name : ''
}

function retryAfterMs(error: ErrorLike, now: number): number | undefined {
  const millis = Number(headerOf(error, 'retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(millis)) return Math.max(0, millis)
  const after = headerOf(error, 'retry-after')
  if (after !== undefined && after.trim() !== '') {
    const seconds = Number(after)
    const delayMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - now
    if (Number.isFinite(delayMs)) return Math.max(0, delayMs)
  }
  // Gemini puts it in the body, which its SDK uses as the message.
  const seconds = /"retryDelay":\s*"([\d.]+)s"/.exec(describeError(error))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

function headerOf({ headers }: ErrorLike, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = isRecord(headers) ? headers[name] : undefined
  return typeof value === 'string' ? value : undefined
}
