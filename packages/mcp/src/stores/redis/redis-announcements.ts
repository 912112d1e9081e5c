import type { JsonValue, Schedule } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  anyText,
  checkOptions,
  encodeAnnouncement,
  milliseconds,
  type OptionRules,
  objectWith,
  scheduleInBackground,
  tell,
  waitAtMost,
  wholeNumber,
} from '@toolcrib/core/internal'
import type { AnnouncementListener, Announcements } from '@toolcrib/core/stores'
import { type RedisClient, RedisLink, type StreamEntries } from './redis-client.ts'
import { script, tagged } from './redis-store.ts'

/** Options of `redisAnnouncements()`: `url` or `client` is required. */
export interface RedisAnnouncementsOptions {
  /** As for `redisStore()`. */
  readonly url?: string
  /** A client of `ioredis` instead of `url`. A second connection with the same options is opened for reading. */
  readonly client?: RedisClient
  /** The prefix of every key; `toolcrib:` by default. Replicas with the same prefix announce to each other. */
  readonly prefix?: string
  /** How long publishing waits for Redis; 2,000 by default. */
  readonly patienceMs?: number
  /** About how many messages are kept for unreachable replicas; 1,000 by default. */
  readonly maxKept?: number
  /** Starts timers. Default: the platform's, which do not keep a process alive. */
  readonly schedule?: Schedule
}

/**
 * Announcements between replicas over a Redis stream. A replica that lost its connection continues where it stopped.
 * Throws `config-invalid` for an unknown option, and without a `url` or a `client`.
 */
export function redisAnnouncements(options: RedisAnnouncementsOptions): Announcements {
  checkOptions('redisAnnouncements()', options, OPTIONS)
  if ((options.url === undefined) === (options.client === undefined))
    throw new ToolcribError(
      'config-invalid',
      'redisAnnouncements() needs either the option "url" or "client"',
    )
  return new RedisAnnouncements(options)
}

const OPTIONS: OptionRules<RedisAnnouncementsOptions> = {
  url: anyText,
  client: objectWith('evalsha', 'duplicate'),
  prefix: anyText,
  patienceMs: milliseconds({ from: 1 }),
  maxKept: wholeNumber({ from: 1 }),
  schedule: anyFunction,
}

/** Messages are numbered without gaps, so that a missing number is noticed. */
const PUBLISH = script(`
local number = redis.call('INCR', KEYS[2])
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'n', number, 't', ARGV[1], 'b', ARGV[2])
return number
`)

/**
 * Records until when a replica is alive, by the clock of Redis, and removes expired ones. If a stream never had a
 * message, it gets one, so that its readers notice when Redis loses everything; the first replica writes it.
 */
const NOTE_ALIVE = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local isNew
if tonumber(ARGV[2]) > 0 then
  isNew = redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
else
  isNew = 1 - redis.call('ZREM', KEYS[3], ARGV[1])
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('XADD', KEYS[1], '*', 'n', redis.call('INCR', KEYS[2]), 't', 'begun', 'b', 'null')
end
return 1 - isNew
`)

const ALIVE = script(`
local time = redis.call('TIME')
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. (time[1] * 1000 + math.floor(time[2] / 1000)), '+inf')
`)

class RedisAnnouncements implements Announcements {
  readonly #link: RedisLink
  readonly #stream: string
  readonly #maxKept: number
  readonly #patienceMs: number
  readonly #schedule: Schedule
  readonly #readers = new Set<StreamReader>()
  #isClosed = false

  constructor(options: RedisAnnouncementsOptions) {
    const { url, client, prefix = 'toolcrib:', patienceMs = 2_000, maxKept = 1_000 } = options
    this.#schedule = options.schedule ?? scheduleInBackground
    this.#link = new RedisLink({ url, client, patienceMs, schedule: this.#schedule })
    this.#stream = prefix + tagged('announcements', prefix)
    this.#maxKept = maxKept
    this.#patienceMs = patienceMs
  }

  async publish(topic: string, body: JsonValue): Promise<void> {
    this.#checkOpen()
    const text = encodeAnnouncement(body)
    await this.#link.run(PUBLISH, [this.#stream, `${this.#stream}:count`], topic, text, this.#maxKept)
  }

  subscribe(listener: AnnouncementListener, from?: string): () => void {
    const reader = new StreamReader(this.#link, listener, {
      stream: this.#stream,
      patienceMs: this.#patienceMs,
      schedule: this.#schedule,
    })
    this.#readers.add(reader)
    void reader.run(from)
    return () => {
      this.#readers.delete(reader)
      reader.stop()
    }
  }

  async noteAlive(replica: string, ttlMs: number): Promise<boolean> {
    this.#checkOpen()
    const keys = [this.#stream, `${this.#stream}:count`, `${this.#stream}:alive`]
    return (await this.#link.run(NOTE_ALIVE, keys, replica, Math.ceil(ttlMs))) === 1
  }

  async alive(): Promise<readonly string[]> {
    this.#checkOpen()
    const replicas = await this.#link.run(ALIVE, [`${this.#stream}:alive`])
    return Array.isArray(replicas) ? replicas.map(String) : []
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const reader of this.#readers) reader.stop()
    this.#link.close()
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new ToolcribError('store-unavailable', 'the announcements are closed')
  }
}

interface Reading {
  readonly stream: string
  readonly patienceMs: number
  readonly schedule: Schedule
}

const BLOCK_MS = 5_000
const BATCH = 100
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000
const BEGINNING = '0-0'

/** Reads one stream over a separate connection, which blocks for messages. */
class StreamReader {
  readonly #link: RedisLink
  readonly #listener: AnnouncementListener
  readonly #reading: Reading
  #client: RedisClient | undefined
  #last: { readonly id: string; readonly number: number } | undefined
  #isStopped = false

  constructor(link: RedisLink, listener: AnnouncementListener, reading: Reading) {
    this.#link = link
    this.#listener = listener
    this.#reading = reading
  }

  /** Reads until it is stopped. Never rejects. */
  async run(from: string | undefined): Promise<void> {
    if (from !== undefined) this.#last = readPosition(from)
    let pauseMs = FIRST_PAUSE_MS
    while (!this.#isStopped) {
      try {
        await this.#readOnce()
        pauseMs = FIRST_PAUSE_MS
      } catch {
        // Messages that are missed now are noticed by their numbers.
        await this.#pause(pauseMs)
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      }
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#client?.disconnect()
  }

  async #readOnce(): Promise<void> {
    const { stream, patienceMs, schedule } = this.#reading
    this.#last ??= await this.#newest()
    const client = await this.#connected()
    const { id } = this.#last
    let found: StreamEntries | undefined
    const reading = client.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', stream, id).then((reply) => {
      found = reply?.[0]?.[1] ?? []
    })
    await waitAtMost(BLOCK_MS + patienceMs, [reading], schedule)
    if (this.#isStopped) return
    if (found === undefined) {
      this.#reset()
      await reading
      return
    }
    if (found.length === 0) await this.#notice()
    for (const entry of found) this.#take(entry)
  }

  #take([id, fields]: StreamEntries[number]): void {
    const { number, topic, body } = readFields(fields)
    const isNext = number === (this.#last?.number ?? 0) + 1
    this.#last = { id, number }
    if (!isNext) tell(() => this.#listener.missed())
    if (!this.#isStopped) tell(() => this.#listener.announced({ topic, body, position: `${number}:${id}` }))
  }

  /**
   * Notices that a stream was deleted and began again, perhaps with an earlier clock, or that Redis returned to an
   * older state, as after a failover: then there is nothing after our position.
   */
  async #notice(): Promise<void> {
    const newest = await this.#newest()
    if (newest.number >= (this.#last?.number ?? 0)) return
    this.#last = { id: BEGINNING, number: 0 }
    // The subscriber may have written other things to this Redis, which are lost as well.
    tell(() => this.#listener.missed())
  }

  async #newest(): Promise<{ readonly id: string; readonly number: number }> {
    const { stream } = this.#reading
    const [entry] = await this.#link.ask((client) => client.xrevrange(stream, '+', '-', 'COUNT', 1))
    return entry ? { id: entry[0], number: readFields(entry[1]).number } : { id: BEGINNING, number: 0 }
  }

  async #connected(): Promise<RedisClient> {
    if (this.#client?.status === 'ready') return this.#client
    this.#reset()
    const client = await this.#link.duplicate()
    this.#client = client
    if (this.#isStopped) client.disconnect()
    else if (client.status === 'wait') await client.connect()
    // Redis may have lost everything while it was unreachable.
    await this.#notice()
    return client
  }

  #reset(): void {
    this.#client?.disconnect()
    this.#client = undefined
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#reading.schedule(ms, resolve))
  }
}

function readPosition(position: string): { readonly id: string; readonly number: number } {
  const [number = '', id = ''] = position.split(':')
  if (/^\d+$/.test(number) && /^\d+-\d+$/.test(id)) return { id, number: Number(number) }
  throw new ToolcribError('config-invalid', `"${position}" is not a position of an announcement`)
}

function readFields(fields: readonly string[]): { number: number; topic: string; body: JsonValue } {
  const named = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) named.set(fields[at] ?? '', fields[at + 1] ?? '')
  const text = named.get('b') ?? 'null'
  return { number: Number(named.get('n')), topic: named.get('t') ?? '', body: parsed(text) }
}

/** Other programs may have written to the stream. */
function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
