import type { Schedule } from 'toolcrib/mcp'
import type { Limits } from './gateway-options.ts'

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
