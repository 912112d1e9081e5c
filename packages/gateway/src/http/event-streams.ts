import type { Schedule } from '@toolcrib/mcp'
import { INTERNAL_ERROR } from '../json-rpc.ts'
import type { EventStream, Exchange, HttpHeaders } from './exchange.ts'

/** Proxies and clients drop connections that are silent for long. */
const KEEP_ALIVE_MS = 15_000

const HEADERS: HttpHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** The open streams of server-sent events. One timer keeps all of them alive. */
export class EventStreams {
  readonly #schedule: Schedule
  readonly #open = new Set<EventStream>()
  #stop: (() => void) | undefined

  constructor(schedule: Schedule) {
    this.#schedule = schedule
  }

  open(exchange: Exchange, headers: HttpHeaders = {}): EventStream {
    const stream = exchange.openStream({ ...HEADERS, ...headers })
    this.#open.add(stream)
    stream.onClose(() => this.#open.delete(stream))
    this.#stop ??= this.#schedule(KEEP_ALIVE_MS, () => this.#keepAlive())
    return stream
  }

  close(): void {
    this.#stop?.()
    for (const stream of [...this.#open]) stream.end()
    this.#open.clear()
  }

  #keepAlive(): void {
    this.#stop = undefined
    for (const stream of [...this.#open]) {
      if (stream.isOpen) stream.send(': keepalive\n\n')
      else this.#open.delete(stream)
    }
    if (this.#open.size > 0) this.#stop = this.#schedule(KEEP_ALIVE_MS, () => this.#keepAlive())
  }
}

/** A message as one server-sent event. */
export function eventOf(message: object): string {
  return `event: message\ndata: ${jsonOf(message)}\n\n`
}

/** A message as JSON text, or an error if it is nested too deep. */
export function jsonOf(message: object): string {
  try {
    return JSON.stringify(message)
  } catch {
    const error = { code: INTERNAL_ERROR, message: 'the result is nested too deep' }
    return JSON.stringify({ jsonrpc: '2.0', id: 'id' in message ? message.id : null, error })
  }
}
