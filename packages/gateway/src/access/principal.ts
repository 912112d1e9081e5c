/** Who sent a request. */
export interface Principal {
  /** A hash of the token: sessions and handles are bound to it, and it is safe to store. */
  readonly id: string
  /** The name of the token. */
  readonly name: string
  /** The profile it uses if its request names none. */
  readonly profile: string | undefined
  /** The only profiles it may use, none for an operator; undefined: every profile, and `/mcp` itself. */
  readonly profiles: readonly string[] | undefined
  /** The OAuth issuer of its token; undefined for other tokens. */
  readonly issuer?: string | undefined
  /** true: it may use the page, its API and `/metrics`. */
  readonly isOperator?: boolean
}

export const NOT_FOR_CLIENTS =
  'this is the token of a client, which opens only /mcp; the page and /metrics need the operator\'s token: "toolcrib serve" prints it in the address of the page, or the file that has it'
export const NOT_FOR_OPERATORS =
  "this is the operator's token, which opens only the page and /metrics; clients of /mcp have their own"

/** Says nothing about the accepted tokens, not even how close a guess is. */
export const TOKEN_NOT_ACCEPTED =
  'the token is not accepted; check that it is complete, of the gateway at this address, and not replaced since, as by a restart'
export const TOKEN_NEEDED = 'a token is needed; send it in the header "Authorization: Bearer TOKEN"'

/** Why a request is refused, as a response. */
export class Refusal {
  /** The HTTP status. */
  readonly status: number
  /** The reason, for the client. */
  readonly error: string
  /** Headers of the response, such as `WWW-Authenticate`. */
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, error: string, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.error = error
    this.headers = headers
  }

  /** The response to send. */
  toResponse(): Response {
    const { status, error, headers } = this
    return Response.json({ error }, { status, headers })
  }
}
