import type { Schedule } from '@toolcrib/mcp'
import { EventStreams, eventOf, jsonOf } from './event-streams.ts'
import type { EventStream, Exchange, HttpHeaders } from './exchange.ts'

/** After this long a reply becomes a stream, which can be kept alive: clients wait only a limited time for headers. */
const STREAM_AFTER_MS = 5_000

/** Replies to requests over HTTP, and opens the streams that clients listen to. */
export class Replies {
  readonly #streams: EventStreams
  readonly #schedule: Schedule

  constructor(schedule: Schedule) {
    this.#streams = new EventStreams(schedule)
    this.#schedule = schedule
  }

  /** The reply to a POST. */
  to(
    exchange: Exchange,
    options: { readonly headers?: HttpHeaders; readonly expected?: number } = {},
  ): Reply {
    return new Reply(exchange, this.#streams, { schedule: this.#schedule, ...options })
  }

  /** Answers a GET with a stream of events. */
  openStream(exchange: Exchange, headers: HttpHeaders): EventStream {
    return this.#streams.open(exchange, headers)
  }

  close(): void {
    this.#streams.close()
  }
}

/**
 * The reply to one POST: a JSON body if the result is the only message, and a stream of events as soon as another
 * message precedes it.
 */
export class Reply {
  readonly #exchange: Exchange
  readonly #streams: EventStreams
  readonly #headers: HttpHeaders
  readonly #stopTimer: () => void
  #stream: EventStream | undefined
  #expected: number

  constructor(
    exchange: Exchange,
    streams: EventStreams,
    {
      schedule,
      headers = {},
      expected = 1,
    }: { readonly schedule: Schedule; readonly headers?: HttpHeaders; readonly expected?: number },
  ) {
    this.#exchange = exchange
    this.#streams = streams
    this.#headers = headers
    this.#expected = expected
    this.#stopTimer = schedule(STREAM_AFTER_MS, () => void this.#open())
    if (expected > 1) this.#open()
  }

  /** False once nothing can reach the client over this reply. */
  get isOpen(): boolean {
    return this.#expected > 0 && (this.#stream?.isOpen ?? !this.#exchange.signal.aborted)
  }

  /** Sends a notification, or a question, before the result. */
  send(message: object): void {
    if (this.#expected > 0) this.#open().send(eventOf(message))
  }

  /** Sends a response. The last expected one completes the reply. */
  finish(response: object, status = 200): void {
    this.#expected--
    if (this.#stream) {
      this.#stream.send(eventOf(response))
      if (this.#expected <= 0) this.#end()
      return
    }
    this.#stopTimer()
    const headers = { 'content-type': 'application/json', ...this.#headers }
    this.#exchange.respond(status, headers, jsonOf(response))
  }

  /** Completes the reply without a response, because the request was cancelled. */
  abandon(): void {
    this.#expected--
    if (this.#expected > 0) return
    this.#open()
    this.#end()
  }

  #open(): EventStream {
    this.#stopTimer()
    this.#stream ??= this.#streams.open(this.#exchange, this.#headers)
    return this.#stream
  }

  #end(): void {
    this.#stopTimer()
    this.#stream?.end()
  }
}
