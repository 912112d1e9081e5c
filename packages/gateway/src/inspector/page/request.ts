/** A request that failed; the message says what to do. */
export class ApiError extends Error {
  readonly status: number
  /** The `WWW-Authenticate` header. */
  readonly challenge: string

  constructor(status: number, message: string, challenge = '') {
    super(message)
    this.status = status
    this.challenge = challenge
  }
}

/** Sends a request to `/api`, with the cookie and a header that no other page can send. Rejects with an `ApiError`. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('x-toolcrib-page', '1')
  let response: Response
  try {
    response = await fetch(`./api/${path}`, { ...init, headers, credentials: 'same-origin' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'The gateway does not answer. Start it again with "toolcrib serve", then reload.')
  }
  if (response.ok) return response
  const { error } = await response.json().catch(() => ({}))
  const message = typeof error === 'string' ? error : `The gateway said ${response.status}.`
  throw new ApiError(response.status, message, response.headers.get('www-authenticate') ?? '')
}
