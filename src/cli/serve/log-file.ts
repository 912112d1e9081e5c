import { renameSync, statSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import type { LogLine } from './log-book.ts'

/** A larger log is moved aside, and a new one begins. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * The log of a gateway on disk, one JSON object per line, readable by its owner only. It outlives the gateway, so that one
 * that ended can be asked why.
 */
export class LogFile {
  readonly path: string
  readonly #maxBytes: number
  readonly #destination: ReturnType<typeof pino.destination>
  readonly #logger: Logger
  #bytes: number

  constructor(path: string, { maxBytes = MAX_BYTES } = {}) {
    this.path = path
    this.#maxBytes = maxBytes
    this.#bytes = sizeOf(path)
    // Synchronous: the last lines before a crash are the ones that matter.
    this.#destination = pino.destination({ dest: path, sync: true, mkdir: true, mode: 0o600 })
    this.#destination.on('error', () => {})
    this.#logger = pino(
      {
        base: null,
        messageKey: 'message',
        timestamp: false,
        formatters: { level: (level) => ({ level }) },
      },
      this.#destination,
    )
  }

  write({ level, message, ...rest }: LogLine): void {
    try {
      this.#logger[level](rest, message)
      this.#bytes += message.length + LINE_BYTES
      if (this.#bytes > this.#maxBytes) this.#rotate()
    } catch {
      // A full disk must not stop the gateway.
    }
  }

  close(): void {
    try {
      this.#destination.end()
    } catch {
      // It could not be opened.
    }
  }

  #rotate(): void {
    renameSync(this.path, `${this.path}.1`)
    this.#destination.reopen()
    this.#bytes = 0
  }
}

/** About what a line has beside its message. */
const LINE_BYTES = 80

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
