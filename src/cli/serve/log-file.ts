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
  #flushing: NodeJS.Immediate | undefined

  constructor(path: string, { maxBytes = MAX_BYTES } = {}) {
    this.path = path
    this.#maxBytes = maxBytes
    this.#bytes = sizeOf(path)
    this.#destination = pino.destination({
      dest: path,
      sync: true,
      mkdir: true,
      mode: 0o600,
      minLength: MAX_WAITING_BYTES,
    })
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
      if (level === 'info') this.#flushing ??= setImmediate(() => this.#flush())
      else this.#flush()
      if (this.#bytes > this.#maxBytes) this.#rotate()
    } catch {
      // A full disk must not stop the gateway.
    }
  }

  close(): void {
    try {
      clearImmediate(this.#flushing)
      this.#destination.flushSync()
      this.#destination.end()
    } catch {
      // It could not be opened.
    }
  }

  /**
   * Calls are logged after their clients have the response: the lines of one turn of the event loop are written together.
   * Warnings and errors are written at once, since the last lines before a crash are the ones that matter.
   */
  #flush(): void {
    clearImmediate(this.#flushing)
    this.#flushing = undefined
    try {
      // Not flushSync(), which also waits for the disk.
      this.#destination.flush()
    } catch {
      // A full disk must not stop the gateway.
    }
  }

  #rotate(): void {
    this.#destination.flushSync()
    renameSync(this.path, `${this.path}.1`)
    this.#destination.reopen()
    this.#bytes = 0
  }
}

/** So many bytes are written without waiting for others. */
const MAX_WAITING_BYTES = 8 * 1_024

/** About what a line has beside its message. */
const LINE_BYTES = 80

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
