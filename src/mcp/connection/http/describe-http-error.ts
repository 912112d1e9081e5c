import { describeError } from '../../../errors.ts'

const MAX_CHARACTERS = 200

/** What the SDK throws when a server answers with a status instead of a message. */
export interface HttpFailure extends Error {
  readonly status: number
  readonly data: { readonly [field: string]: unknown }
}

/** By its fields: to load the SDK for its class takes longer than a search. */
export function isHttpFailure(error: unknown): error is HttpFailure {
  return error instanceof Error && error.name === 'SdkHttpError' && 'status' in error && 'data' in error
}

/** What a server answered instead of a message, in one line. A page for people is left out. */
export function describeHttpError({ status, message, data }: HttpFailure): string {
  // The SDK says where it would have gone, and why it did not.
  if (status >= 300 && status < 400) return message.replace(/^[^:]*: |\s*\(redirectPolicy.*\)$/g, '')
  const text =
    String(data.text ?? '')
      .trim()
      .split('\n', 1)[0] ?? ''
  const said = text === '' || text.startsWith('<') ? '' : `: ${text.slice(0, MAX_CHARACTERS)}`
  return `it answered with HTTP ${status}${said}`
}

/** The same, with the next step where there is one, for a server that cannot be connected. */
export function describeHttpRefusal(error: HttpFailure): string {
  const step = STATUS_STEPS[error.status]
  return step === undefined ? describeHttpError(error) : `${step} (${describeHttpError(error)})`
}

const STATUS_STEPS: Readonly<Record<number, string>> = {
  401: 'it asks for authorization; set an Authorization header, or pass oauth',
  403: 'it refuses access; check that its token is valid and allows this',
  404: 'there is no MCP server at this address; correct its url',
  405: 'there is no MCP server at this address; correct its url',
  429: 'it gets too many requests; try later',
}
/**
 * Why an address cannot be reached, in one line with the next step; undefined when the failure is of another kind.
 * Whatever follows the path is left out, because it may hold a key.
 */
export function describeUnreachable(url: URL, error: unknown): string | undefined {
  const causes = causesOf(error)
  // What fetch throws when it got no answer; why stands in its cause.
  const failed = causes.findIndex((cause) => cause instanceof TypeError && cause.message === 'fetch failed')
  if (failed < 0) return undefined
  const reason = causes[failed + 1] ?? causes[failed]
  const code = reason !== undefined && 'code' in reason ? String(reason.code) : describeError(reason)
  const step = NETWORK_STEPS[code] ?? 'check its url, and that the server is running'
  return `nothing answers at ${url.origin}${url.pathname} (${code}); ${step}`
}

const NETWORK_STEPS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'start the server, or correct its url',
  ENOTFOUND: 'there is no such host: correct its url',
}

const MAX_CAUSES = 8

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < MAX_CAUSES; cause = cause.cause)
    causes.push(cause)
  return causes
}
