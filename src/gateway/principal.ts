/** Who sent a request. */
export interface Principal {
  /** A hash of the token: sessions and handles are bound to it, and it is safe to store. */
  readonly id: string
  /** The name of the token. */
  readonly name: string
  /** The profile it uses where its request names none. */
  readonly profile: string | undefined
  /** The only profiles it may use; any, and none, when undefined. */
  readonly profiles: readonly string[] | undefined
}

/** Why a request may not pass, as a response. */
export class Refusal {
  readonly status: number
  readonly error: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, error: string, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.error = error
    this.headers = headers
  }

  toResponse(): Response {
    const { status, error, headers } = this
    return Response.json({ error }, { status, headers })
  }
}
