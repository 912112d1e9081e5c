import { createHash } from 'node:crypto'
import type { Change, Schedule, Store, StoredValue, WriteOptions } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  anyText,
  checkOptions,
  describeError,
  milliseconds,
  type OptionRules,
  objectWith,
  scheduleWithTimers,
  turns,
} from '@toolcrib/core/internal'
import { checkKey, decodeValue, type EncodedValue, encodeValue, expiryOf } from '@toolcrib/core/stores'
import { type RedisClient, RedisLink, type Script } from './redis-client.ts'

/** Options of `redisStore()`: `url` or `client` is required. */
export interface RedisStoreOptions {
  /**
   * `redis://[user:password@]host[:port][/database]`; `rediss://` with TLS; `redis+cluster://` for a cluster. With
   * `redis+sentinel://`, host and port are a Sentinel's; `?name=` is the name of the primary (`mymaster`), and each
   * `&sentinel=host:port` is another Sentinel.
   */
  readonly url?: string
  /** A client of `ioredis` instead of `url`. Closing the store leaves it open. */
  readonly client?: RedisClient
  /**
   * The prefix of every key; `toolcrib:` by default. With a hash tag, `{team}:`, all keys are in one slot of a cluster.
   */
  readonly prefix?: string
  /** How long an operation waits for a connection, and for each reply; 2,000 by default. */
  readonly patienceMs?: number
  /** Called for a value that cannot be read; it counts as absent. Default: emits a Node.js warning. */
  readonly onDamaged?: (error: ToolcribError) => void
  /** Starts timers. Default: the platform's. */
  readonly schedule?: Schedule
  /** Returns numbers from 0 to 1, which spread retries. Default: `Math.random`. */
  readonly random?: () => number
  /** Generates versions of values. Default: random. */
  readonly newId?: () => string
}

/**
 * A store in Redis or Valkey, for any number of processes on any number of machines. It connects with the first
 * operation. Throws `config-invalid` for an unknown option, and without a `url` or a `client`.
 */
export function redisStore(options: RedisStoreOptions): Store {
  checkOptions('redisStore()', options, OPTIONS)
  if ((options.url === undefined) === (options.client === undefined))
    throw new ToolcribError('config-invalid', 'redisStore() needs either the option "url" or "client"')
  return new RedisStore(options)
}

const OPTIONS: OptionRules<RedisStoreOptions> = {
  url: anyText,
  client: objectWith('evalsha', 'duplicate'),
  prefix: anyText,
  patienceMs: milliseconds({ from: 1 }),
  onDamaged: anyFunction,
  schedule: anyFunction,
  random: anyFunction,
  newId: anyFunction,
}

/** A retry means that another process made its change. */
const MAX_TRIES = 100
/** After this many failed tries a process requests a turn, in which nobody else writes. */
const TRIES_BEFORE_TURN = 3
/** A process that dies in its turn delays the others by this long. */
const TURN_MS = 250
/** The pause grows with the number of failed tries. */
const PAUSE_PER_TRY_MS = 32
const MAX_PAUSE_MS = 1_000

class RedisStore implements Store {
  readonly #link: RedisLink
  readonly #prefix: string
  readonly #onDamaged: (error: ToolcribError) => void
  readonly #schedule: Schedule
  readonly #random: () => number
  readonly #newId: () => string
  readonly #me: string
  readonly #inTurn = turns()
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(options: RedisStoreOptions) {
    const { url, client, prefix = 'toolcrib:', patienceMs = 2_000, schedule = scheduleWithTimers } = options
    this.#link = new RedisLink({ url, client, patienceMs, schedule })
    this.#prefix = prefix
    this.#schedule = schedule
    this.#random = options.random ?? Math.random
    this.#newId = options.newId ?? (() => crypto.randomUUID())
    this.#onDamaged = options.onDamaged ?? ((error) => process.emitWarning(error.message))
    this.#me = this.#newVersion()
  }

  async get(key: string): Promise<StoredValue | undefined> {
    return await this.#operate(key, async (name) => (await this.#read(name)).value)
  }

  async set(key: string, value: StoredValue, options: WriteOptions = {}): Promise<void> {
    await this.#operate(key, (name) => {
      const content = pack(this.#newVersion(), encodeValue(value))
      const ttlMs = ttlOf(options)
      const write = (client: RedisClient) =>
        ttlMs === undefined ? client.set(name, content) : client.psetex(name, ttlMs, content)
      return this.#inTurn(key, () => this.#link.ask(write))
    })
  }

  async update(key: string, change: Change, options: WriteOptions = {}): Promise<StoredValue | undefined> {
    return await this.#operate(key, (name) => this.#inTurn(key, () => this.#update(name, change, options)))
  }

  async delete(key: string): Promise<void> {
    await this.#operate(key, (name) => this.#inTurn(key, () => this.#link.ask((client) => client.del(name))))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#underWay)
    this.#link.close()
  }

  async #update(name: string, change: Change, options: WriteOptions): Promise<StoredValue | undefined> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const found = await this.#read(name)
      const changed = change(found.value)
      if (changed === found.value) return changed
      const encoded = changed === undefined ? undefined : encodeValue(changed)
      const outcome = await this.#link.run(
        REPLACE,
        [name, `${name}:turn`],
        found.version,
        encoded === undefined ? '' : pack(this.#newVersion(), encoded),
        ttlOf(options) ?? '',
        this.#me,
        tries > TRIES_BEFORE_TURN ? TURN_MS : '',
      )
      if (outcome === REPLACED) return encoded === undefined ? undefined : decodeValue(encoded)
      // During its turn nobody else writes, and everyone waits for it.
      if (outcome !== MY_TURN) await this.#pause(tries)
    }
    const message = `a value in Redis was changed by others ${MAX_TRIES} times while it was to be updated`
    throw new ToolcribError('store-unavailable', message)
  }

  /** The value, and the version to replace; for a damaged value only the version. */
  async #read(name: string): Promise<{ readonly version: string; readonly value?: StoredValue }> {
    const reply = await this.#link.ask((client) => client.getBuffer(name))
    if (reply === null) return { version: '' }
    const version = textOf(reply.subarray(0, VERSION_BYTES))
    try {
      return { version, value: unpack(reply) }
    } catch (cause) {
      const message = `the value of ${name} in Redis is damaged and counts as absent: ${describeError(cause)}`
      this.#onDamaged(new ToolcribError('store-unavailable', message, { cause }))
      return { version }
    }
  }

  #pause(tries: number): Promise<void> {
    const longest = Math.min(2 ** tries, tries * PAUSE_PER_TRY_MS, MAX_PAUSE_MS)
    return new Promise((resolve) => void this.#schedule(this.#random() * longest, resolve))
  }

  async #operate<Value>(key: string, work: (name: string) => Promise<Value>): Promise<Value> {
    if (this.#isClosed) throw new ToolcribError('store-unavailable', 'the store is closed')
    checkKey(key)
    const operation = work(this.#prefix + tagged(key, this.#prefix))
    this.#underWay.add(operation)
    try {
      return await operation
    } finally {
      this.#underWay.delete(operation)
    }
  }

  #newVersion(): string {
    return this.#newId().replaceAll('-', '').padEnd(VERSION_BYTES, '0').slice(-VERSION_BYTES)
  }
}

const VERSION_BYTES = 16
const JSON_MARK = 'j'.charCodeAt(0)
const BYTES_MARK = 'b'.charCodeAt(0)

/** What the script returns if it replaced the value, and if it did not but this process has the turn; otherwise 0. */
const REPLACED = 1
const MY_TURN = 2

/**
 * Replaces a value if its version is the expected one and nobody else has the turn. Otherwise takes the turn if
 * requested.
 */
const REPLACE = script(`
local turn = redis.call('GET', KEYS[2])
if redis.call('GETRANGE', KEYS[1], 0, ${VERSION_BYTES - 1}) == ARGV[1] and (not turn or turn == ARGV[4]) then
  if ARGV[2] == '' then redis.call('DEL', KEYS[1])
  elseif ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2])
  else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
  if turn then redis.call('DEL', KEYS[2]) end
  return 1
end
if not turn and ARGV[5] ~= '' then
  redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[5])
  return 2
end
return turn == ARGV[4] and 2 or 0
`)

export function script(lua: string): Script {
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') }
}

/**
 * The key in braces, a hash tag, so that everything about it is in the same slot of a cluster. A closing brace would
 * end the tag early. If the prefix has a tag, that one applies.
 */
export function tagged(key: string, prefix: string): string {
  if (/\{[^}]+\}/.test(prefix)) return key
  return `{${key.replaceAll('%', '%25').replaceAll('}', '%7D')}}`
}

/** A version, a mark and the content. */
function pack(version: string, value: EncodedValue): Buffer {
  const head = Buffer.from(`${version} `)
  head[VERSION_BYTES] = typeof value === 'string' ? JSON_MARK : BYTES_MARK
  return Buffer.concat([head, typeof value === 'string' ? Buffer.from(value) : value])
}

function unpack(content: Uint8Array): StoredValue {
  const rest = content.subarray(VERSION_BYTES + 1)
  const mark = content[VERSION_BYTES]
  if (mark === JSON_MARK) return decodeValue(textOf(rest))
  if (mark === BYTES_MARK) return decodeValue(rest)
  throw new Error('it was not written by a store')
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}

/** Thousands of years: Redis rejects values that would overflow its clock. */
const LONGEST_TTL_MS = 1e14

function ttlOf(options: WriteOptions): number | undefined {
  const ttlMs = Math.ceil(expiryOf(options, 0))
  return ttlMs > LONGEST_TTL_MS ? undefined : ttlMs
}
