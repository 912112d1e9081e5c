import { closeSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '@toolcrib/mcp/stores'

/** One line of a gateway's log. */
export interface LogLine {
  /** When it happened, as an ISO date. */
  readonly at: string
  readonly level: 'info' | 'warn' | 'error'
  /** Whose line it is; absent for lines of the gateway itself. */
  readonly server?: string
  readonly message: string
}

/** A larger log is renamed, and a new one begins. */
const MAX_BYTES = 4 * 1024 * 1024

export interface FiledLine extends LogLine {
  /** The gateway that wrote it: several of one config write to one file. */
  readonly pid?: number
}

/** This many characters are written without waiting for more. */
const MAX_WAITING = 8 * 1024
const FLUSH_AFTER_MS = 50

/**
 * The log of a gateway on disk, one JSON object per line, readable only by its owner. It outlives the gateway, so that
 * one can find out why the gateway ended. A log that cannot be written, such as in a folder that
 * does not exist, never stops the gateway.
 */
export class LogFile {
  readonly path: string
  readonly #maxBytes: number
  readonly #pid: number
  #file: number | undefined
  #bytes: number
  #waiting = ''
  #flushing: NodeJS.Timeout | undefined

  /** Creates its folder if necessary. */
  static async open(path: string, options: { maxBytes?: number; pid?: number } = {}): Promise<LogFile> {
    await makeFolder(dirname(path), { mode: 0o777 }).catch(() => {})
    return new LogFile(path, options)
  }

  constructor(path: string, { maxBytes = MAX_BYTES, pid = process.pid } = {}) {
    this.path = path
    this.#pid = pid
    this.#maxBytes = maxBytes
    this.#bytes = sizeOf(path)
    this.#open()
  }

  /**
   * Calls are logged after their clients have the response, and lines are written in batches. Warnings and errors are
   * written at once, with all lines before them: the last lines before a crash matter most.
   */
  write({ level, ...rest }: LogLine): void {
    if (this.#file === undefined) return
    const line: FiledLine = { level, ...rest, pid: this.#pid }
    this.#waiting += `${JSON.stringify(line)}\n`
    if (level !== 'info' || this.#waiting.length > MAX_WAITING) this.#flush()
    else this.#flushing ??= setTimeout(() => this.#flush(), FLUSH_AFTER_MS).unref()
  }

  close(): void {
    this.#flush()
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #flush(): void {
    clearTimeout(this.#flushing)
    this.#flushing = undefined
    const lines = this.#waiting
    this.#waiting = ''
    if (this.#file === undefined || lines === '') return
    try {
      this.#bytes += writeSync(this.#file, lines)
      if (this.#bytes > this.#maxBytes) this.#rotate()
    } catch {
      // The disk may be full.
    }
  }

  #open(): void {
    try {
      this.#file = openSync(this.path, 'a', 0o600)
    } catch {
      // The folder may not be writable.
    }
  }

  #rotate(): void {
    renameSync(this.path, `${this.path}.1`)
    this.close()
    this.#open()
    this.#bytes = 0
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
