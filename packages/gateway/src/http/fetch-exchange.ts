import {
  type Body,
  type BodyLimits,
  type EventStream,
  type Exchange,
  type HttpHeaders,
  MAX_UNREAD_BYTES,
  parseBody,
} from './exchange.ts'

/** An exchange of a `fetch` handler: the response is a promise. */
export class FetchExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly response: Promise<Response>
  readonly #request: Request
  readonly #search: URLSearchParams
  readonly #gone = new AbortController()
  #stream: FetchStream | undefined
  #resolve: (response: Response) => void = () => {}

  constructor(request: Request) {
    const { pathname, searchParams } = new URL(request.url)
    this.method = request.method
    this.path = pathname
    this.#request = request
    this.#search = searchParams
    this.response = new Promise((resolve) => {
      this.#resolve = resolve
    })
    if (request.signal.aborted) this.#gone.abort()
    else request.signal.addEventListener('abort', () => this.#leave(), { once: true })
  }

  get signal(): AbortSignal {
    return this.#gone.signal
  }

  query(name: string): string | undefined {
    return this.#search.get(name) ?? undefined
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name) ?? undefined
    // Requests that were not built from sockets have their host only in the URL.
    return value === undefined && name === 'host' ? new URL(this.#request.url).host : value
  }

  async readBody({ maxBodyBytes, bodyTimeoutMs, schedule, ...limits }: BodyLimits): Promise<Body> {
    if (Number(this.header('content-length') ?? 0) > maxBodyBytes) return { kind: 'too-large' }
    const reader = this.#request.body?.getReader()
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
      return isTooSlow ? { kind: 'too-slow' } : parseBody(Buffer.concat(chunks).toString(), limits)
    } catch {
      return { kind: isTooSlow ? 'too-slow' : 'invalid' }
    } finally {
      stop()
    }
  }

  respond(status: number, headers: HttpHeaders, body?: string): void {
    this.#resolve(new Response(body ?? null, { status, headers }))
  }

  openStream(headers: HttpHeaders): EventStream {
    const stream = new FetchStream(() => this.#gone.abort())
    this.#stream = stream
    this.#resolve(new Response(stream.body, { headers }))
    return stream
  }

  toRequest(): Request {
    const { url, method, headers } = this.#request
    return new Request(url, { method, headers, signal: this.#gone.signal })
  }

  respondWith(response: Response): void {
    this.#resolve(response)
  }

  cut(): void {
    this.#leave()
    this.#resolve(new Response(null, { status: 503 }))
  }

  #leave(): void {
    this.#gone.abort()
    this.#stream?.end()
  }
}

class FetchStream implements EventStream {
  isOpen = true
  readonly body: ReadableStream<Uint8Array>
  readonly #listeners: (() => void)[] = []
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(onGone: () => void) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => {
          onGone()
          this.#close()
        },
      },
      { highWaterMark: MAX_UNREAD_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
    )
  }

  send(text: string): void {
    if (!this.isOpen) return
    if ((this.#controller?.desiredSize ?? 0) > 0) this.#controller?.enqueue(Buffer.from(text))
    else {
      this.#controller?.error(new Error('the client reads too slowly'))
      this.#close()
    }
  }

  end(): void {
    if (!this.isOpen) return
    this.#controller?.close()
    this.#close()
  }

  onClose(listener: () => void): void {
    this.#listeners.push(listener)
  }

  #close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    for (const listener of this.#listeners) listener()
  }
}
