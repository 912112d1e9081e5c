import type { RedisClient } from 'toolcrib/redis'
import type { SimProcess, World } from './world.ts'

interface Entry {
  readonly value: Buffer
  readonly expiresAt: number
}

type StreamEntry = [id: string, fields: string[]]
type Fault = 'none' | 'down' | 'read-only' | 'full' | 'slow'

/** A Redis: what the commands in use do, and what can happen to it. */
export class SimRedis {
  fault: Fault = 'none'
  /** How often it lost its data. */
  losses = 0
  /** What it was asked, by command. */
  readonly counts = new Map<string, { count: number; sent: number; received: number }>()
  onWrite: (key: string, value: Buffer | undefined) => void = () => {}
  readonly #world: World
  readonly #values = new Map<string, Entry>()
  readonly #streams = new Map<string, StreamEntry[]>()
  readonly #alive = new Map<string, Map<string, number>>()
  readonly #waiting = new Set<() => void>()
  #lastId = 0

  constructor(world: World) {
    this.#world = world
  }

  /** About how many bytes it holds. */
  get size(): number {
    let size = 0
    for (const [key, { value }] of this.#values) size += key.length + value.length
    return size
  }

  count(command: string, sent: number, received: number): void {
    const known = this.counts.get(command) ?? { count: 0, sent: 0, received: 0 }
    this.counts.set(command, {
      count: known.count + 1,
      sent: known.sent + sent,
      received: known.received + received,
    })
  }

  get(key: string): Buffer | null {
    const entry = this.#values.get(key)
    if (!entry || entry.expiresAt <= this.#world.now) return null
    return entry.value
  }

  set(key: string, value: Buffer, ttlMs = Number.POSITIVE_INFINITY): string {
    this.#checkWritable()
    this.#values.set(key, { value: Buffer.from(value), expiresAt: this.#world.now + ttlMs })
    this.onWrite(key, value)
    return 'OK'
  }

  del(key: string): number {
    this.#checkWritable()
    const had = this.#values.delete(key)
    this.onWrite(key, undefined)
    return had ? 1 : 0
  }

  /** The scripts in use, told apart by what they call. */
  eval(
    lua: string,
    keys: readonly string[],
    args: readonly (string | Buffer | number)[],
  ): number | readonly string[] {
    if (lua.includes('ZADD')) return this.#noteAlive(keys, args)
    if (lua.includes("call('ZRANGEBYSCORE")) return this.#living(keys[0])
    return lua.includes('XADD') ? this.#publish(keys, args) : this.#replace(keys, args)
  }

  read(stream: string, after: string): StreamEntry[] {
    return (this.#streams.get(stream) ?? []).filter(([id]) => idOf(id) > idOf(after)).slice(0, 100)
  }

  newest(stream: string): StreamEntry[] {
    return (this.#streams.get(stream) ?? []).slice(-1)
  }

  /** Calls back with the next message, once. */
  wait(wake: () => void): () => void {
    this.#waiting.add(wake)
    return () => void this.#waiting.delete(wake)
  }

  lose(): void {
    this.losses++
    this.#values.clear()
    this.#streams.clear()
    this.#alive.clear()
  }

  #noteAlive(keys: readonly string[], args: readonly (string | Buffer | number)[]): number {
    this.#checkWritable()
    const [, count = '', key = ''] = keys
    const [replica, ttlMs] = [String(args[0]), Number(args[1])]
    const wasAlive = this.#living(key).includes(replica)
    const alive = this.#alive.get(key) ?? new Map<string, number>()
    this.#alive.set(key, alive)
    alive.set(replica, this.#world.now + ttlMs)
    if (this.get(count) === null) this.#publish(keys, ['begun', 'null', 1_000])
    return wasAlive ? 1 : 0
  }

  #living(key = ''): readonly string[] {
    const alive = [...(this.#alive.get(key) ?? [])]
    return alive.filter(([, until]) => until > this.#world.now).map(([replica]) => replica)
  }

  #replace([key = '', turnKey = '']: readonly string[], args: readonly (string | Buffer | number)[]): number {
    this.#checkWritable()
    const [version, content, ttlMs, me, turnMs] = args
    const turn = this.get(turnKey)?.toString()
    const current = this.get(key)?.subarray(0, 16).toString() ?? ''
    if (current === String(version) && (turn === undefined || turn === String(me))) {
      if (content === '') this.del(key)
      else this.set(key, Buffer.from(content as Buffer), ttlMs === '' ? undefined : Number(ttlMs))
      if (turn !== undefined) this.del(turnKey)
      return 1
    }
    if (turn !== undefined) return turn === String(me) ? 2 : 0
    if (turnMs === '') return 0
    this.set(turnKey, Buffer.from(String(me)), Number(turnMs))
    return 2
  }

  #publish(
    [stream = '', count = '']: readonly string[],
    args: readonly (string | Buffer | number)[],
  ): number {
    this.#checkWritable()
    const number = Number(this.get(count)?.toString() ?? 0) + 1
    this.#values.set(count, { value: Buffer.from(String(number)), expiresAt: Number.POSITIVE_INFINITY })
    const entries = this.#streams.get(stream) ?? []
    this.#streams.set(stream, entries)
    const [topic, body, maxKept] = args
    entries.push([`${++this.#lastId}-0`, ['n', String(number), 't', String(topic), 'b', String(body)]])
    if (entries.length > Number(maxKept)) entries.shift()
    for (const wake of [...this.#waiting]) wake()
    return number
  }

  #checkWritable(): void {
    if (this.fault === 'read-only') throw new Error("READONLY You can't write against a read only replica.")
    if (this.fault === 'full') throw new Error("OOM command not allowed when used memory > 'maxmemory'.")
  }
}

function idOf(id: string): number {
  return Number(id.split('-')[0])
}

function nameOf(lua: string): string {
  if (lua.includes('ZADD')) return 'EVALSHA (note alive)'
  if (lua.includes("call('ZRANGEBYSCORE")) return 'EVALSHA (alive)'
  return lua.includes('XADD') ? 'EVALSHA (announce)' : 'EVALSHA (replace)'
}

/** What the protocol adds to a command. */
const OVERHEAD_BYTES = 30

function sizeOf(reply: unknown): number {
  if (Buffer.isBuffer(reply)) return reply.length + 8
  return reply === null ? 5 : JSON.stringify(reply).length + 4
}

/** Longer than a command takes while nothing is wrong. */
const LONG_MS = 1_000

/** One process's connection to Redis: its messages take time, keep their order, and can be cut off on either way. */
export class SimRedisClient implements RedisClient {
  status = 'ready'
  readonly #world: World
  readonly #redis: SimRedis
  readonly #host: SimProcess
  readonly #listeners: { readonly event: string; readonly listener: (error?: unknown) => void }[] = []
  readonly #scripts = new Set<string>()
  #arrival = 0
  #return = 0
  #cut = 0
  #lastTrouble = 0
  /** When the commands without a reply were sent. */
  readonly #unanswered = new Set<{ readonly sentAt: number }>()

  constructor(world: World, redis: SimRedis, host: SimProcess) {
    this.#world = world
    this.#redis = redis
    this.#host = host
  }

  on(event: string, listener: (error?: unknown) => void): this {
    this.#listeners.push({ event, listener })
    return this
  }

  /** When a command last failed, was left without a reply, or took long: now, while one does. */
  get lastTrouble(): number {
    const { now } = this.#world
    const isSlow = [...this.#unanswered].some(({ sentAt }) => now - sentAt > LONG_MS)
    return isSlow ? now : this.#lastTrouble
  }

  async connect(): Promise<void> {}

  disconnect(): void {
    this.#cut++
    this.status = 'end'
  }

  duplicate(): SimRedisClient {
    return new SimRedisClient(this.#world, this.#redis, this.#host)
  }

  getBuffer(key: string): Promise<Buffer | null> {
    return this.#send('GET', key.length, () => this.#redis.get(key))
  }

  set(key: string, value: Buffer): Promise<unknown> {
    return this.#send('SET', key.length + value.length, () => this.#redis.set(key, value))
  }

  psetex(key: string, ttlMs: number, value: Buffer): Promise<unknown> {
    return this.#send('PSETEX', key.length + value.length, () => this.#redis.set(key, value, ttlMs))
  }

  del(key: string): Promise<unknown> {
    return this.#send('DEL', key.length, () => this.#redis.del(key))
  }

  eval(lua: string, keys: number, ...given: (string | Buffer | number)[]): Promise<unknown> {
    this.#scripts.add(lua)
    const name = nameOf(lua)
    // A real Redis knows the script by its hash.
    const sent = 40 + given.reduce<number>((sum, each) => sum + String(each).length, 0)
    return this.#send(name, sent, () =>
      this.#redis.eval(lua, given.slice(0, keys).map(String), given.slice(keys)),
    )
  }

  /** No script is known by its hash: every one is sent in full. */
  evalsha(): Promise<unknown> {
    return Promise.reject(new Error('NOSCRIPT No matching script.'))
  }

  xrevrange(key: string): Promise<StreamEntry[]> {
    return this.#send('XREVRANGE', key.length, () => this.#redis.newest(key))
  }

  async xread(...args: [string, number, string, number, string, string, string]) {
    const [, , , blockMs, , key, from] = args
    // Whether there is something to read, and waiting for it, are one step for Redis: nothing is announced in between.
    const { found, woken } = await this.#send('XREAD', key.length, () => {
      const found = this.#redis.read(key, from)
      return { found, woken: found.length > 0 ? undefined : this.#woken(blockMs) }
    })
    if (found.length > 0) return [[key, found]] as [string, StreamEntry[]][]
    await woken
    // The reply to a command that was waiting is not a command itself.
    const late = await this.#send(undefined, 0, () => this.#redis.read(key, from))
    return late.length > 0 ? ([[key, late]] as [string, StreamEntry[]][]) : null
  }

  #woken(blockMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        stop()
        unwait()
        resolve()
      }
      const stop = this.#world.schedule(blockMs, done)
      const unwait = this.#redis.wait(done)
    })
  }

  /** The command arrives, is carried out, and its reply comes back; any of that may not happen. */
  #send<Reply>(command: string | undefined, sent: number, work: () => Reply): Promise<Reply> {
    this.#host.act()
    if (!this.#host.isAlive) return new Promise(() => {})
    const world = this.#world
    const cut = this.#cut
    const unanswered = { sentAt: world.now }
    this.#unanswered.add(unanswered)
    return new Promise<Reply>((resolve, reject) => {
      const fail = (message: string) => {
        this.#lastTrouble = world.now
        this.#unanswered.delete(unanswered)
        if (this.#host.isAlive) reject(new Error(message))
      }
      if (this.status !== 'ready') return void world.schedule(0, () => fail('Connection is closed.'))
      this.#arrival = Math.max(this.#arrival, world.now + this.#latency())
      world.schedule(this.#arrival - world.now, () => {
        // The process died, or its connection broke, before Redis read the command.
        if (this.#redis.fault === 'down' || cut !== this.#cut || this.#isLost()) return this.#break(fail)
        let outcome: { readonly reply: Reply } | { readonly error: Error }
        try {
          const reply = work()
          outcome = { reply }
          if (command !== undefined) this.#redis.count(command, sent + OVERHEAD_BYTES, sizeOf(reply))
        } catch (error) {
          outcome = { error: error as Error }
        }
        this.#return = Math.max(this.#return, world.now + this.#latency())
        world.schedule(this.#return - world.now, () => {
          if (!this.#host.isAlive) return
          // Carried out, and nobody will know.
          if (cut !== this.#cut || this.#isLost()) return this.#break(fail)
          if ('error' in outcome) return fail(outcome.error.message)
          this.#lastTrouble = this.lastTrouble
          this.#unanswered.delete(unanswered)
          resolve(outcome.reply)
        })
      })
    })
  }

  #latency(): number {
    return this.#redis.fault === 'slow' ? 5_000 : this.#world.delay()
  }

  #isLost(): boolean {
    return this.#world.chance(this.#host.breaks)
  }

  #break(fail: (message: string) => void): void {
    fail('Connection is closed.')
    if (this.status !== 'ready') return
    this.status = 'reconnecting'
    this.#cut++
    this.#emit('close')
    this.#reconnect()
  }

  #reconnect(): void {
    this.#world.schedule(50 + this.#world.random() * 500, () => {
      if (this.status !== 'reconnecting' || !this.#host.isAlive) return
      if (this.#redis.fault === 'down') return this.#reconnect()
      this.status = 'ready'
      this.#emit('ready')
    })
  }

  #emit(event: string): void {
    for (const each of this.#listeners) if (each.event === event) each.listener()
  }
}
