import { describeError } from '@toolcrib/core/internal'

const MAX_CHARACTERS = 200

/** What the SDK throws when a server responds with an HTTP error status. */
export interface HttpFailure extends Error {
  readonly status: number
  readonly data: { readonly [field: string]: unknown }
}

/** A server refuses a request until it is authorized: at all, or for more scopes. */
export class AuthorizationNeeded extends Error {
  override readonly name = 'AuthorizationNeeded'
  readonly needed: {
    readonly kind: 'token' | 'scope'
    readonly scope?: string | undefined
    readonly resourceMetadataUrl?: URL | undefined
  }

  constructor(needed: AuthorizationNeeded['needed']) {
    super('it requires authorization')
    this.needed = needed
  }
}

/** Thrown when a server requires sign-in and nobody signed in, or it failed. */
export class SignInFailed extends Error {
  override readonly name = 'SignInFailed'
}

/** Whether a failed sign-in is among the causes of an error. */
export function isSignInFailure(error: unknown): boolean {
  return causesOf(error).some((cause) => cause instanceof SignInFailed)
}

/** Checks fields instead of the class: loading the SDK takes longer than a search. */
export function isHttpFailure(error: unknown): error is HttpFailure {
  return error instanceof Error && error.name === 'SdkHttpError' && 'status' in error && 'data' in error
}

/** Describes an HTTP error response in one line. HTML pages are left out. */
export function describeHttpError({ status, message, data }: HttpFailure): string {
  // The SDK's message says where the redirect led and why it was not followed.
  if (status >= 300 && status < 400) return message.replace(/^[^:]*: |\s*\(redirectPolicy.*\)$/g, '')
  const text =
    String(data.text ?? '')
      .trim()
      .split('\n', 1)[0] ?? ''
  const said = text === '' || text.startsWith('<') ? '' : `: ${text.slice(0, MAX_CHARACTERS)}`
  return `it responded with HTTP ${status}${said}`
}

/** Describes an HTTP error during connecting, with the next step where there is one. */
export function describeHttpRefusal(error: HttpFailure): string {
  const step = STATUS_STEPS[error.status]
  return step === undefined ? describeHttpError(error) : `${step} (${describeHttpError(error)})`
}

const STATUS_STEPS: Readonly<Record<number, string>> = {
  401: 'it requires authorization; set an Authorization header, or pass oauth',
  403: 'it denied access; check that the token is valid and has the required permissions',
  404: 'there is no MCP server at this address; check its url',
  405: 'there is no MCP server at this address; check its url',
  429: 'it is rate limited; try again later',
}
/**
 * Describes in one line why an address cannot be reached, with the next step; undefined for any other error. The
 * query is left out, because it may contain a key.
 */
export function describeUnreachable(url: URL, error: unknown): string | undefined {
  const causes = causesOf(error)
  // What fetch throws when there was no response; the reason is in its cause.
  const failed = causes.findIndex((cause) => cause instanceof TypeError && cause.message === 'fetch failed')
  if (failed < 0) return undefined
  const reason = causes[failed + 1] ?? causes[failed]
  const code = reason !== undefined && 'code' in reason ? String(reason.code) : describeError(reason)
  const step = NETWORK_STEPS[code] ?? 'check its url, and that the server is running'
  return `no response from ${url.origin}${url.pathname} (${code}); ${step}`
}

const NETWORK_STEPS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'start the server, or check its url',
  ENOTFOUND: 'the host does not exist; check its url',
}

const MAX_CAUSES = 8

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < MAX_CAUSES; cause = cause.cause)
    causes.push(cause)
  return causes
}
