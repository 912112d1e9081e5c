import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Schedule } from '@toolcrib/mcp'
import {
  type Body,
  type BodyLimits,
  type EventStream,
  type Exchange,
  type HttpHeaders,
  MAX_UNREAD_BYTES,
  parseBody,
} from './exchange.ts'

/** How long a client may read nothing of a complete response. */
const UNREAD_MS = 60_000
/** The rest of a body up to this length is read and dropped, so that its connection can be reused. */
const MAX_SKIPPED_BYTES = 64 * 1024
/** How much of a longer body is dropped before its connection is closed, and for how long. */
const MAX_DROPPED_BYTES = 64 * 1024 * 1024
const DROPPING_MS = 1_000

/** An exchange of `node:http`. The body is parsed from its bytes and the response written as bytes. */
export class NodeExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #schedule: Schedule
  readonly #search: string
  #gone: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse, schedule: Schedule) {
    this.method = request.method ?? 'GET'
    const url = request.url ?? '/'
    const at = url.indexOf('?')
    this.path = at < 0 ? url : url.slice(0, at)
    this.#search = at < 0 ? '' : url.slice(at + 1)
    this.#request = request
    this.#response = response
    this.#schedule = schedule
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      const gone = new AbortController()
      this.#gone = gone
      if (this.#response.destroyed) gone.abort()
      else this.#response.once('close', () => this.#response.writableFinished || gone.abort())
    }
    return this.#gone.signal
  }

  query(name: string): string | undefined {
    if (this.#search === '') return undefined
    return new URLSearchParams(this.#search).get(name) ?? undefined
  }

  header(name: string): string | undefined {
    // A proxy may have read the other one.
    if ((name === 'host' || name === 'authorization') && isRepeated(this.#request, name)) return undefined
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  readBody(limits: BodyLimits): Promise<Body> {
    const { maxBodyBytes, bodyTimeoutMs, schedule } = limits
    const request = this.#request
    if (Number(this.header('content-length') ?? 0) > maxBodyBytes) return Promise.resolve(this.#tooLarge())
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const onData = (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= maxBodyBytes) chunks.push(chunk)
        else finish(this.#tooLarge())
      }
      const onEnd = () => {
        const [first] = chunks
        finish(parseBody((chunks.length === 1 && first ? first : Buffer.concat(chunks)).toString(), limits))
      }
      const onGone = () => finish({ kind: 'invalid' })
      const stop = schedule(bodyTimeoutMs, () => finish(this.#tooSlow()))
      const finish = (body: Body) => {
        stop()
        request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
        if (body.kind !== 'json') request.on('error', () => {}).pause()
        resolve(body)
      }
      request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
    })
  }

  respond(status: number, headers: HttpHeaders, body = ''): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const isSendingMore = this.#isSendingMore()
    // The rest of a long body is dropped, and the connection ends with the response.
    if (isSendingMore) response.setHeader('connection', 'close')
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
    if (isSendingMore) this.#endAfterRest(body)
    else response.end(body)
    if (response.writableLength === 0) return
    const stop = this.#schedule(UNREAD_MS, () => void response.destroy())
    response.once('close', stop)
  }

  openStream(headers: HttpHeaders): EventStream {
    this.#response.writeHead(200, headers)
    this.#response.flushHeaders()
    return new NodeStream(this.#response)
  }

  toRequest(): Request {
    const headers = new Headers()
    for (const [name, value] of Object.entries(this.#request.headers))
      if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
    const url = `http://${this.header('host')}${this.path}${this.#search === '' ? '' : `?${this.#search}`}`
    return new Request(url, { method: this.method, headers, signal: this.signal })
  }

  respondWith(response: Response): void {
    if (this.#response.headersSent || this.#response.destroyed) return
    const headers = Object.fromEntries(response.headers)
    this.#response.writeHead(response.status, headers)
    if (!response.body) {
      this.#response.end()
      return
    }
    this.#response.flushHeaders()
    const body = Readable.fromWeb(response.body as import('node:stream/web').ReadableStream)
    body.on('error', () => this.#response.destroy())
    this.#response.on('close', () => body.destroy())
    body.pipe(this.#response)
  }

  cut(): void {
    this.#response.destroy()
  }

  /** Whether an unread body, long or of unknown length, is still arriving. */
  #isSendingMore(): boolean {
    const request = this.#request
    if (request.complete) return false
    return (
      request.headers['transfer-encoding'] !== undefined ||
      Number(request.headers['content-length'] ?? 0) > MAX_SKIPPED_BYTES
    )
  }

  /**
   * Drops what still arrives for a moment: closing a connection with unread data resets it, and the client would not
   * see the response.
   */
  #endAfterRest(body: string): void {
    const [request, response] = [this.#request, this.#response]
    let dropped = 0
    const end = () => response.end()
    const stop = this.#schedule(DROPPING_MS, end)
    response.once('close', stop)
    response.write(body)
    request.on('error', () => {}).once('end', end)
    request.on('data', (chunk: Buffer) => {
      dropped += chunk.length
      if (dropped > MAX_DROPPED_BYTES) end()
    })
    request.resume()
  }

  // The rest of such a body is not read: the connection ends with the response.
  #tooLarge(): Body {
    this.#response.setHeader('connection', 'close')
    return { kind: 'too-large' }
  }

  #tooSlow(): Body {
    this.#response.setHeader('connection', 'close')
    return { kind: 'too-slow' }
  }
}

/** Whether a request has a header more than once. Node.js silently keeps the first of some headers. */
function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count++
  return count > 1
}

class NodeStream implements EventStream {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  send(text: string): void {
    if (!this.isOpen) return
    if (this.#response.writableLength > MAX_UNREAD_BYTES) this.#response.destroy()
    else this.#response.write(text)
  }

  end(): void {
    this.#response.end()
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener)
  }
}
