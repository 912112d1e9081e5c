import { createHash } from 'node:crypto'
import * as platform from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Change, Clock, Schedule, Store, StoredValue, WriteOptions } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  anyText,
  checkOptions,
  describeError,
  either,
  isRecord,
  type OptionRules,
  objectWith,
  readClock,
  required,
  scheduleInBackground,
  turns,
} from '@toolcrib/core/internal'
import type { EncodedValue } from '@toolcrib/core/stores'
import { checkKey, decodeValue, encodeValue, expiryOf } from '@toolcrib/core/stores'
import type { Disk } from './files/disk.ts'
import { Sweeper } from './files/sweeper.ts'
import { type Head, ValueFolder } from './files/value-folder.ts'

export interface FileStoreOptions {
  /** The folder of the files. Created by the first write, readable only by its owner. */
  readonly directory: string
  /**
   * Called for a damaged file. It counts as absent, and the next write replaces it. Default: emits a Node.js warning.
   */
  readonly onDamaged?: (error: ToolcribError) => void
  /** The clock. Default: `Date`. */
  readonly clock?: Clock
  /** Starts the timers that remove expired values in the background. Default: the platform's timers. */
  readonly schedule?: Schedule
  /** Returns numbers from 0 to 1. Default: `Math.random`. */
  readonly random?: () => number
  /** The file system. Default: `node:fs/promises`. */
  readonly disk?: Disk
}

/**
 * A store in a directory. Values survive the process, and any number of processes may use the directory at once: a
 * process that is killed at any moment leaves the old value or the new one, and blocks no other process.
 */
export function fileStore(options: FileStoreOptions): Store {
  checkOptions('fileStore()', options, OPTIONS)
  return new FileStore(options)
}

const OPTIONS: OptionRules<FileStoreOptions> = {
  directory: required({ expected: 'a path', accepts: (value) => anyText.accepts(value) && value !== '' }),
  onDamaged: anyFunction,
  clock: either(anyFunction, objectWith('now')),
  schedule: anyFunction,
  random: anyFunction,
  disk: objectWith('readFile', 'open', 'rename'),
}

/** A retry means that another process made its change. This many in a row mean that the file system does not work. */
const MAX_TRIES = 10_000

class FileStore implements Store {
  readonly #directory: string
  readonly #drafts: string
  readonly #disk: Disk
  readonly #now: () => number
  readonly #onDamaged: (error: ToolcribError) => void
  readonly #sweeper: Sweeper
  readonly #inTurn = turns()
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(options: FileStoreOptions) {
    const { clock = Date, schedule = scheduleInBackground, random = Math.random } = options
    this.#directory = resolve(options.directory)
    this.#drafts = join(this.#directory, 'drafts')
    this.#disk = options.disk ?? platform
    this.#now = readClock(clock)
    this.#onDamaged = options.onDamaged ?? ((error) => process.emitWarning(error.message))
    this.#sweeper = new Sweeper({
      directory: this.#directory,
      drafts: this.#drafts,
      now: this.#now,
      schedule,
      random,
      disk: this.#disk,
    })
  }

  async get(key: string): Promise<StoredValue | undefined> {
    return await this.#run(key, async (folder) => (await this.#read(key, folder)).value)
  }

  async set(key: string, value: StoredValue, options: WriteOptions = {}): Promise<void> {
    await this.#run(key, (folder) => {
      const content = encodeEntry(key, encodeValue(value))
      expiryOf(options, 0)
      return this.#inTurn(key, () =>
        this.#untilFirst(async () => {
          const head = await this.#reach(folder.head())
          return await this.#write(folder, head, content, options)
        }),
      )
    })
  }

  async update(key: string, change: Change, options: WriteOptions = {}): Promise<StoredValue | undefined> {
    return await this.#run(key, (folder) =>
      this.#inTurn(key, async () => {
        let result: StoredValue | undefined
        await this.#untilFirst(async () => {
          const { head, value } = await this.#read(key, folder)
          const changed = change(value)
          result = value
          if (changed === value) return true
          result = undefined
          if (changed === undefined) return head === undefined || (await this.#reach(folder.remove(head)))
          const encoded = encodeValue(changed)
          result = decodeValue(encoded)
          return await this.#write(folder, head, encodeEntry(key, encoded), options)
        })
        return result
      }),
    )
  }

  async delete(key: string): Promise<void> {
    await this.#run(key, (folder) =>
      this.#inTurn(key, () =>
        this.#untilFirst(async () => {
          const head = await this.#reach(folder.head())
          return head === undefined || (await this.#reach(folder.remove(head)))
        }),
      ),
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled([...this.#underWay, this.#sweeper.stop()])
  }

  async #run<Value>(key: string, operate: (folder: ValueFolder) => Promise<Value>): Promise<Value> {
    if (this.#isClosed) throw new ToolcribError('store-unavailable', 'the store is closed')
    checkKey(key)
    const work = operate(this.#folderOf(key))
    this.#underWay.add(work)
    try {
      return await work
    } finally {
      this.#underWay.delete(work)
    }
  }

  /** The name is a hash, so that any key works on any file system, even one that ignores case. */
  #folderOf(key: string): ValueFolder {
    const hash = createHash('sha256').update(key).digest('hex')
    return new ValueFolder(
      join(this.#directory, hash.slice(0, 2), hash.slice(2, 42)),
      this.#drafts,
      this.#disk,
    )
  }

  /** The head, even of a value that has expired or is damaged; the value only if it is neither. */
  async #read(key: string, folder: ValueFolder): Promise<{ head?: Head; value?: StoredValue }> {
    const found = await this.#reach(folder.read())
    if (found === undefined) return {}
    const { head, content } = found
    if (head.expiresAt <= this.#now()) return { head }
    try {
      if (content === undefined) throw new Error('it is missing')
      return { head, value: decodeValue(decodeEntry(key, content)) }
    } catch (cause) {
      const file = join(folder.path, head.valueFile)
      const message = `the file ${file} is damaged and counts as absent: ${describeError(cause)}`
      this.#onDamaged(new ToolcribError('store-unavailable', message, { cause }))
      return { head }
    }
  }

  async #write(
    folder: ValueFolder,
    head: Head | undefined,
    content: Uint8Array,
    options: WriteOptions,
  ): Promise<boolean> {
    this.#sweeper.start()
    return await this.#reach(folder.replace(head, content, expiryOf(options, this.#now())))
  }

  /** Retries until no other process was faster. */
  async #untilFirst(attempt: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) if (await attempt()) return
    throw new ToolcribError('store-unavailable', `the store in ${this.#directory} cannot be changed`)
  }

  async #reach<Value>(work: Promise<Value>): Promise<Value> {
    try {
      return await work
    } catch (cause) {
      throw new ToolcribError(
        'store-unavailable',
        `the store in ${this.#directory} cannot be used: ${describeError(cause)}`,
        { cause },
      )
    }
  }
}

/**
 * An entry as the content of a file: a line of JSON with the key, the type of the value and its checksum, and then the
 * value itself.
 */
export function encodeEntry(key: string, value: EncodedValue): Uint8Array {
  const body = typeof value === 'string' ? Buffer.from(value) : value
  const header = { key, type: typeof value === 'string' ? 'json' : 'bytes', crc32: crc32(body) }
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body])
}

/** The value of an entry. Throws, with the reason, if the content is not what was written under this key. */
export function decodeEntry(key: string, content: Uint8Array): EncodedValue {
  const end = content.indexOf(LINE_END)
  if (end < 0) throw new Error('it is cut off')
  const header = parseHeader(Buffer.from(content.subarray(0, end)).toString())
  const body = content.subarray(end + 1)
  if (header.crc32 !== crc32(body)) throw new Error('its content does not match its checksum')
  if (header.key !== key) throw new Error(`it contains the key ${JSON.stringify(header.key)}`)
  return header.type === 'json' ? Buffer.from(body).toString() : body
}

const LINE_END = 10

function parseHeader(line: string): Record<string, unknown> {
  const header: unknown = JSON.parse(line)
  if (!isRecord(header)) throw new Error('it has no header')
  return header
}
