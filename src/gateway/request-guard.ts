import type { Schedule } from 'toolcrib/mcp'
import type { Limits } from './gateway-options.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** Refuses what a web page could be tricked into sending: requests for foreign hosts, and from foreign pages. */
export class RequestGuard {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>

  constructor(options: {
    readonly hosts?: readonly string[] | undefined
    readonly origins?: readonly string[] | undefined
  }) {
    this.#hosts = new Set((options.hosts ?? LOOPBACK).map((host) => host.toLowerCase()))
    this.#origins = new Set((options.origins ?? []).map((origin) => origin.toLowerCase()))
  }

  /** Why the request is refused; undefined when it may pass. */
  refusal(request: Request): string | undefined {
    const host = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
    // A name that a stranger's DNS points at this machine arrives with that name as its host.
    const hostname = hostnameOf(host)
    if (hostname === undefined || !this.#hosts.has(hostname)) return 'this host name is not served here'
    const origin = request.headers.get('origin')?.toLowerCase()
    if (origin === undefined || this.#origins.has(origin)) return undefined
    const isOwnPage = origin === `http://${host}` || origin === `https://${host}`
    return isOwnPage ? undefined : 'this origin may not send requests here'
  }
}

function hostnameOf(host: string): string | undefined {
  const { name } = /^(?<name>\[[0-9a-f:.]+\]|[^:/?#@\s]+)(?::\d+)?$/.exec(host)?.groups ?? {}
  return name
}

/** What came of reading a body. */
export type Body =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'too-large' | 'too-slow' | 'invalid' }

/** Reads a JSON body within the limits of size and time. */
export async function readBody(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: Pick<Limits, 'maxBodyBytes' | 'bodyTimeoutMs'>,
  schedule: Schedule,
): Promise<Body> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) return { kind: 'too-large' }
  const reader = request.body?.getReader()
  if (!reader) return { kind: 'invalid' }
  let isTooSlow = false
  const stop = schedule(bodyTimeoutMs, () => {
    isTooSlow = true
    reader.cancel().catch(() => {})
  })
  try {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.byteLength
      if (bytes > maxBodyBytes) {
        reader.cancel().catch(() => {})
        return { kind: 'too-large' }
      }
      chunks.push(value)
    }
    if (isTooSlow) return { kind: 'too-slow' }
    return { kind: 'json', value: JSON.parse(new TextDecoder().decode(joined(chunks, bytes))) }
  } catch {
    return { kind: isTooSlow ? 'too-slow' : 'invalid' }
  } finally {
    stop()
  }
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  if (chunks.length === 1 && chunks[0]) return chunks[0]
  const whole = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}
