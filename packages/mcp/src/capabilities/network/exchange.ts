import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Duplex, pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { CapabilityError } from '@toolcrib/core'
import { hostOf } from './host-list.ts'

export interface Address {
  readonly address: string
  readonly family: number
}

export interface Outgoing {
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
}

export interface Incoming {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly body: Uint8Array
}

/**
 * Sends one request and reads the whole response. Connects only to one of the given addresses; the name is not
 * resolved again. Proxy settings in the environment are ignored.
 */
export async function exchange(
  url: URL,
  outgoing: Outgoing,
  addresses: readonly Address[],
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Incoming> {
  const message = await send(url, outgoing, addresses, signal)
  const headers = headersOf(message)
  const body = await readBody(message, headers, outgoing.method, maxBytes)
  // These headers describe the encoded bytes, which the caller never sees.
  headers.delete('content-encoding')
  headers.delete('transfer-encoding')
  if (outgoing.method !== 'HEAD') headers.delete('content-length')
  return { status: message.statusCode ?? 0, statusText: message.statusMessage ?? '', headers, body }
}

function send(
  url: URL,
  { method, headers, body }: Outgoing,
  addresses: readonly Address[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const host = hostOf(url)
  return new Promise((resolve, reject) => {
    const request = (isSecure ? httpsRequest : httpRequest)({
      method,
      host,
      port: url.port === '' ? undefined : url.port,
      path: url.pathname + url.search,
      headers: { ...Object.fromEntries(headers), ...(body && { 'content-length': String(body.byteLength) }) },
      // A private agent: the global one may use a proxy from the environment.
      agent: isSecure ? new HttpsAgent() : new HttpAgent(),
      lookup: fixedLookup(addresses),
      ...(isSecure && isIP(host) === 0 ? { servername: host } : {}),
      signal,
    })
    request.once('response', resolve)
    request.once('error', reject)
    request.end(body)
  })
}

function fixedLookup(addresses: readonly Address[]): LookupFunction {
  return (hostname, { all }, callback) => {
    const [first] = addresses
    if (first === undefined) return callback(new Error(`${hostname} has no address`), '')
    if (all) return callback(null, [...addresses])
    callback(null, first.address, first.family)
  }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    try {
      headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
    } catch {
      // A header that cannot be represented must not fail the whole response.
    }
  }
  return headers
}

async function readBody(
  message: IncomingMessage,
  headers: Headers,
  method: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const announced = Number(headers.get('content-length') ?? 0)
  if (method !== 'HEAD' && announced > maxBytes) {
    message.destroy()
    throw tooLarge(maxBytes)
  }
  const chunks: Buffer[] = []
  let length = 0
  const stream = decoded(message, headers.get('content-encoding'), method)
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length
    // Counted after decoding: a small response can decompress to a very large one.
    if (length > maxBytes) {
      message.destroy()
      throw tooLarge(maxBytes)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function decoded(message: IncomingMessage, encoding: string | null, method: string): Readable {
  if (method === 'HEAD' || message.statusCode === 204 || message.statusCode === 304) return message
  const decoder = decoderFor(encoding?.trim().toLowerCase())
  // The code that reads the decoder receives the error.
  return decoder === undefined ? message : pipeline(message, decoder, () => undefined)
}

/** `deflate` means the zlib format, but some servers send raw deflate; the first byte distinguishes them. */
function inflater(): Duplex {
  return Duplex.from(async function* (source: AsyncIterable<Buffer>) {
    const chunks = source[Symbol.asyncIterator]()
    let first = await chunks.next()
    while (!first.done && first.value.length === 0) first = await chunks.next()
    if (first.done) return
    const isZlib = ((first.value[0] ?? 0) & 0x0f) === 8
    const decoder = isZlib ? createInflate() : createInflateRaw()
    const beginning = first.value
    const whole = async function* () {
      yield beginning
      yield* { [Symbol.asyncIterator]: () => chunks }
    }
    yield* pipeline(whole, decoder, () => undefined)
  })
}

function decoderFor(encoding: string | undefined) {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip()
  if (encoding === 'deflate') return inflater()
  if (encoding === 'br') return createBrotliDecompress()
  return undefined
}

function tooLarge(maxBytes: number): CapabilityError {
  return new CapabilityError(
    'execution_failed',
    `the response exceeds the ${maxBytes} bytes the host allows; request a smaller part`,
  )
}
