import { randomBytes } from 'node:crypto'
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { GrantKind } from '../approvals/approval-book.ts'
import {
  type ChainEnd,
  chainsIn,
  headPath,
  keyOf,
  NO_LINE,
  readHead,
  sealHead,
  sealLine,
  segmentName,
} from './audit-files.ts'

/** Where calls are recorded, and what happens if they cannot be. */
export interface AuditOptions {
  /** The folder of the record; processes may share it. It contains the key of its hashes. */
  readonly directory: string
  /** Whether arguments are recorded, with secrets masked. Default: only their digest. */
  readonly arguments?: boolean | undefined
  /** Whether a call that cannot be recorded is refused. Default: it runs, and the record has a gap. */
  readonly required?: boolean | undefined
  /** A larger file is left as it is, and the next one begins; 16 MiB. */
  readonly maxFileBytes?: number | undefined
}

/** One call in the record. */
export interface AuditEntry {
  /** When it ended, or started, as an ISO date. */
  readonly at: string
  /** The name of the client's token. */
  readonly who: string
  /** What the client calls itself. */
  readonly client?: string
  readonly profile?: string
  /** The registered name of the tool, or the unknown name that was called. */
  readonly tool: string
  /** SHA-256 of the tool's definition. */
  readonly definition?: string
  /** SHA-256 of the arguments, whatever the order of their keys. */
  readonly digest: string
  readonly arguments?: unknown
  /** What was decided about the call; `allow` is without a question, `none` without an answer. */
  readonly decision: GrantKind | 'allow' | 'deny' | 'none'
  /** Whose decision it was: the config's, the client's own user's, or that of somebody at the page or a terminal. */
  readonly by: 'policy' | 'user' | 'operator'
  /**
   * `ok`, or why the call failed. `started` precedes a call where records are required; `task` ends one whose server goes on
   * with it, and another line, with the same digest, says how that ended.
   */
  readonly outcome: string
  readonly durationMs?: number
}

const MAX_FILE_BYTES = 16 * 1024 * 1024
/** How many other chains the first line of a chain names. */
const MAX_OTHERS = 20

/**
 * An append-only record of calls, one JSON line each, with a hash over the line and the hash of the line above. Each
 * process writes a chain of files of its own, whose first line names the ends of the others.
 */
export class AuditLog {
  readonly options: AuditOptions
  readonly #now: () => number
  #chain: Chain | undefined

  constructor(options: AuditOptions, now: () => number) {
    this.options = options
    this.#now = now
  }

  /** Adds a line. Throws if it cannot be written; then nothing of it stays. */
  write(entry: AuditEntry): void {
    this.#chain ??= new Chain(this.options, new Date(this.#now()).toISOString())
    this.#chain.add(entry)
  }

  close(): void {
    this.#chain?.close()
    this.#chain = undefined
  }
}

/** The files of one process. */
class Chain {
  readonly #folder: string
  readonly #name: string
  readonly #key: string
  readonly #maxBytes: number
  #end: ChainEnd = NO_LINE
  #part = 0
  #file: number | undefined
  #head: number | undefined
  #bytes = 0

  constructor({ directory, maxFileBytes = MAX_FILE_BYTES }: AuditOptions, at: string) {
    this.#folder = directory
    this.#maxBytes = maxFileBytes
    this.#key = keyOf(directory)
    this.#name = `${at.replaceAll(/[^\dTZ]/g, '')}-${process.pid}-${randomBytes(3).toString('hex')}`
    const known = [...chainsIn(directory).keys()].slice(-MAX_OTHERS)
    const others = known.flatMap((chain) => {
      const end = readHead(directory, chain, this.#key)
      return end ? [[chain, end] as const] : []
    })
    try {
      // With its name: a copy of a chain under another one must not count.
      this.add({ at, chain: this.#name, pid: process.pid, others: Object.fromEntries(others) })
    } catch (error) {
      this.close()
      // On a full disk, each call would leave them.
      for (const path of [join(directory, segmentName(this.#name, 1)), headPath(directory, this.#name)])
        rmSync(path, { force: true })
      throw error
    }
  }

  add(entry: object): void {
    if (this.#file === undefined || this.#bytes >= this.#maxBytes) this.#open()
    const file = this.#file as number
    const seq = this.#end.seq + 1
    const { line, hash } = sealLine({ seq, ...entry, prev: this.#end.hash }, this.#key)
    const bytes = Buffer.from(line)
    try {
      if (writeSync(file, bytes) < bytes.length) throw new Error('the disk is full')
    } catch (error) {
      ftruncateSync(file, this.#bytes)
      throw error
    }
    this.#bytes += bytes.length
    this.#end = { seq, hash }
    // A head that is behind does no harm: the lines after it have their hashes.
    this.#head ??= openSync(headPath(this.#folder, this.#name), 'w', 0o600)
    writeSync(this.#head, sealHead(this.#end, this.#key), 0)
  }

  close(): void {
    for (const file of [this.#file, this.#head]) if (file !== undefined) closeSync(file)
    this.#file = undefined
    this.#head = undefined
  }

  #open(): void {
    const path = join(this.#folder, segmentName(this.#name, this.#part + 1))
    const next = openSync(path, 'ax', 0o600)
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = next
    this.#part++
    this.#bytes = 0
  }
}
