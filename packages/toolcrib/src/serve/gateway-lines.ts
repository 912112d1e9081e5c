import type { GatewayLogger } from '@toolcrib/gateway'
import type { LogBook } from './log-book.ts'
import type { LogLine } from './log-file.ts'

/** Lines about refused requests per minute: constant refused requests must not displace all other lines. */
const MAX_REFUSALS_PER_MINUTE = 60
const MINUTE_MS = 60_000

/**
 * The gateway's own lines in the log: warnings, sessions, and requests that were refused or failed. A successful
 * request is logged as a call.
 */
export class GatewayLines implements GatewayLogger {
  readonly #logs: LogBook
  readonly #now: () => number
  #minute = 0
  #refusals = 0

  constructor(logs: LogBook, now: () => number = Date.now) {
    this.#logs = logs
    this.#now = now
  }

  info(fields: Readonly<Record<string, unknown>>, message: string): void {
    if (message !== 'request') this.#add('info', described(message, fields))
    else if (Number(fields.status) >= 400) this.#refused(fields)
  }

  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#add('warn', described(message, fields))
  }

  #refused({ method, route, status, ms }: Readonly<Record<string, unknown>>): void {
    const minute = Math.floor(this.#now() / MINUTE_MS)
    if (minute !== this.#minute) this.#refusals = 0
    this.#minute = minute
    this.#refusals++
    if (this.#refusals > MAX_REFUSALS_PER_MINUTE) return
    const isLast = this.#refusals === MAX_REFUSALS_PER_MINUTE
    const note = isLast ? '; further ones in this minute are not logged' : ''
    this.#add('warn', `request ${method} ${route}: ${status}, ${ms} ms${note}`)
  }

  #add(level: LogLine['level'], message: string): void {
    this.#logs.write(level, message, this.#now())
  }
}

function described(message: string, fields: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(fields).map(([name, value]) => `${name} ${value}`)
  return shown.length === 0 ? message : `${message}: ${shown.join(', ')}`
}
