import { signal } from '@preact/signals'
import type { Input, Output, RouteName } from '../api/routes.ts'

/** What to do about a request that failed. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** True once the gateway has refused the token; the page then asks for one. */
export const needsToken = signal(false)

const KEPT = 'toolcrib-token'
let token = ''

/**
 * Takes the token out of the address, so that it is neither seen nor kept in the history. It lives as long as this tab:
 * unlike a cookie, it is bound to this port, and no other site can make the browser send it.
 */
export function takeToken(): void {
  const given = /(?:^#|&)token=([^&]+)/.exec(location.hash)?.[1]
  if (given !== undefined) {
    keepToken(decodeURIComponent(given))
    history.replaceState(null, '', `${location.pathname}#/`)
    // Replacing an address fires nothing by itself.
    dispatchEvent(new Event('hashchange'))
    return
  }
  token = sessionStorage.getItem(KEPT) ?? ''
}

export function keepToken(given: string): void {
  token = given
  sessionStorage.setItem(KEPT, given)
  needsToken.value = false
}

/** Sends a request to `/api`. Rejects with an `ApiError` that says what to do. */
export async function ask<Name extends RouteName>(
  name: Name,
  input: Partial<Input<Name>> = {},
  signal?: AbortSignal,
): Promise<Output<Name>> {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(input)) query.set(key, String(value))
  const response = await send(`${name}?${query}`, { ...(signal ? { signal } : {}) })
  return response.json()
}

/** Sends a request that changes or runs something. */
export async function tell<Name extends RouteName>(
  name: Name,
  input: Partial<Input<Name>> = {},
): Promise<Output<Name>> {
  return (await post(name, input)).json()
}

/** The same, with an answer that comes line by line. Aborting it cancels what runs. */
export async function tellLines<Line>(
  name: RouteName,
  input: object,
  { onLine, signal }: { onLine: (line: Line) => void; signal: AbortSignal },
): Promise<void> {
  const response = await post(name, input, signal)
  for await (const line of linesOf(response, '\n')) if (line !== '') onLine(JSON.parse(line))
}

/** The pieces of a stream between separators. */
export async function* linesOf(response: Response, separator: string): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done = true, value = '' } = (await reader?.read()) ?? {}
    rest += value
    const pieces = rest.split(separator)
    rest = pieces.pop() ?? ''
    yield* pieces
    if (done) break
  }
  if (rest !== '') yield rest
}

export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (token !== '') headers.set('authorization', `Bearer ${token}`)
  let response: Response
  try {
    response = await fetch(`./api/${path}`, { ...init, headers, credentials: 'omit' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'The gateway does not answer. Start it again with "toolcrib serve", then reload.')
  }
  if (response.ok) return response
  if (response.status === 401) needsToken.value = true
  const { error } = await response.json().catch(() => ({}))
  throw new ApiError(
    response.status,
    typeof error === 'string' ? error : `The gateway said ${response.status}.`,
  )
}

function post(name: RouteName, input: object, signal?: AbortSignal): Promise<Response> {
  return send(name, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-toolcrib-page': '1' },
    body: JSON.stringify(input),
    ...(signal ? { signal } : {}),
  })
}
