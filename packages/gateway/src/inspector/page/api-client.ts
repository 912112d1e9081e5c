import type { Input, Output, RouteName } from '../api/routes.ts'
import { sendSignedIn } from './signed-in.ts'

/** Sends a request to `/api`. Rejects with an `ApiError` that says what to do. */
export async function ask<Name extends RouteName>(
  name: Name,
  input: Partial<Input<Name>> = {},
  signal?: AbortSignal,
): Promise<Output<Name>> {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(input)) query.set(key, String(value))
  const response = await sendSignedIn(`${name}?${query}`, { ...(signal ? { signal } : {}) })
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

function post(name: RouteName, input: object, signal?: AbortSignal): Promise<Response> {
  return sendSignedIn(name, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
    ...(signal ? { signal } : {}),
  })
}
