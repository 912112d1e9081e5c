import type { Schedule } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { describeError, waitPatiently } from '@toolcrib/core/internal'

/** Entries of a stream: their ids, and alternating names and values. */
export type StreamEntries = [id: string, fields: string[]][]

type Argument = string | Buffer | number

/** The part of a Redis client that is used: `Redis` and `Cluster` of `ioredis` implement it. */
export interface RedisClient {
  readonly status: string
  getBuffer(key: string): Promise<Buffer | null>
  set(key: string, value: Buffer): Promise<unknown>
  psetex(key: string, ttlMs: number, value: Buffer): Promise<unknown>
  del(key: string): Promise<unknown>
  eval(lua: string, keys: number, ...keysAndArguments: Argument[]): Promise<unknown>
  evalsha(sha1: string, keys: number, ...keysAndArguments: Argument[]): Promise<unknown>
  xread(
    count: 'COUNT',
    most: number,
    block: 'BLOCK',
    ms: number,
    streams: 'STREAMS',
    key: string,
    from: string,
  ): Promise<readonly [string, StreamEntries][] | null>
  xrevrange(key: string, to: '+', from: '-', count: 'COUNT', most: number): Promise<StreamEntries>
  connect(): Promise<unknown>
  disconnect(): void
  duplicate(): RedisClient
  on(event: 'ready' | 'error' | 'close', listener: (error?: unknown) => void): unknown
}

/** Which Redis to use, and how long to wait for it. */
export interface RedisAddress {
  readonly url?: string | undefined
  readonly client?: RedisClient | undefined
  readonly patienceMs: number
  readonly schedule: Schedule
}

/**
 * Creates a client for an address, or another one like the given client. `ioredis` is loaded here, on first use. Throws
 * `config-invalid` if it is not installed, or for an invalid address.
 */
export async function openClient({ url, client, patienceMs }: RedisAddress): Promise<RedisClient> {
  if (client !== undefined) return client
  const { Redis, Cluster } = await loadPackage()
  const { kind, text } = readAddress(url)
  const common = {
    // Commands of one tick share a round trip.
    enableAutoPipelining: true,
    lazyConnect: true,
    // Pending commands of a lost connection fail at once: nothing is sent twice.
    maxRetriesPerRequest: 0,
    connectTimeout: patienceMs,
    connectionName: 'toolcrib',
    retryStrategy: reconnectDelay,
    // After a failover the old primary is read-only: a new connection finds the new one.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  }
  if (kind === 'cluster')
    return new Cluster([text], {
      enableAutoPipelining: true,
      lazyConnect: true,
      redisOptions: { ...common, ...tlsOf(text) },
      clusterRetryStrategy: reconnectDelay,
      // A command whose reply was lost would be sent again, although it may have been executed.
      retryDelayOnFailover: 0,
    })
  const own = { ...common, enableOfflineQueue: false }
  if (kind === 'sentinel')
    return new Redis({
      ...own,
      ...sentinelsOf(text),
      ...tlsOf(text),
      sentinelRetryStrategy: reconnectDelay,
      // If a Sentinel has not answered by then, the next one is asked.
      sentinelCommandTimeout: patienceMs,
    })
  return new Redis(text, own)
}

/** The host of an address, for messages; never its password. */
export function hostOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).host || 'localhost' : 'this address'
}

const MAX_RECONNECT_MS = 2_000

function reconnectDelay(times: number): number {
  const delay = Math.min(50 * 2 ** Math.min(times - 1, 10), MAX_RECONNECT_MS)
  // Many replicas lose their connections at the same moment.
  return delay * (0.5 + Math.random() / 2)
}

async function loadPackage() {
  try {
    return await import('ioredis')
  } catch (cause) {
    if (!describeError(cause).includes('ioredis')) throw cause
    const message = 'the package ioredis is not installed; install it with: npm install ioredis'
    throw new ToolcribError('config-invalid', message, { cause })
  }
}

function readAddress(url: string | undefined): { readonly kind: string; readonly text: string } {
  const scheme = /^(?:rediss?(?:\+(cluster))?|redis\+(sentinel)):\/\//.exec(url ?? '')
  if (url === undefined || scheme === null || !URL.canParse(url))
    throw new ToolcribError(
      'config-invalid',
      'the address of a Redis begins with redis://, rediss:// (TLS), redis+cluster://, rediss+cluster:// or redis+sentinel://',
    )
  const kind = scheme[1] ?? scheme[2] ?? 'one'
  return { kind, text: url.replace(`+${kind}://`, '://') }
}

const SENTINEL_PORT = 26_379
const SENTINEL_KEYS = ['name', 'sentinel']

/** `redis://host[:port][/database]?name=…&sentinel=host[:port]…`: the Sentinels to ask, and the name of the primary. */
function sentinelsOf(text: string): object {
  const { host, pathname, searchParams } = new URL(text)
  const database = pathname.slice(1)
  // Neither is quoted: an unencoded password may end up there.
  if (!/^\d{0,9}$/.test(database))
    throw new ToolcribError(
      'config-invalid',
      'the database in the address of a Redis is not a number; the name of a primary is ?name=…',
    )
  if ([...searchParams.keys()].some((key) => !SENTINEL_KEYS.includes(key)))
    throw new ToolcribError(
      'config-invalid',
      'the address of Sentinels has an unknown key; use only name and sentinel',
    )
  const sentinels = [host, ...searchParams.getAll('sentinel')].map((each) => {
    if (each === '' || !URL.canParse(`redis://${each}`))
      throw new ToolcribError('config-invalid', 'a Sentinel in the address of a Redis is not host:port')
    const { hostname, port } = new URL(`redis://${each}`)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? SENTINEL_PORT : Number(port) }
  })
  return { sentinels, name: searchParams.get('name') ?? 'mymaster', db: Number(database) }
}

/** A cluster's nodes name each other by address, so the credentials and TLS of the first apply to all. */
function tlsOf(text: string): object {
  const { protocol, username, password } = new URL(text)
  return {
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}

/**
 * A connection to Redis, opened with the first command. A command waits a bounded time for a connection and for its
 * reply; while Redis is unreachable for longer, commands fail at once.
 */
export class RedisLink {
  readonly #address: RedisAddress
  readonly #host: string
  readonly #isOwn: boolean
  #client: Promise<RedisClient> | undefined
  #isReady = false
  /** True after a command gave up waiting for a connection, until there is one. */
  #isAway = false
  #lastError: unknown
  #whenReady: (() => void)[] = []

  constructor(address: RedisAddress) {
    this.#address = address
    this.#host = hostOf(address.url)
    this.#isOwn = address.client === undefined
  }

  /** Sends a command and returns its reply. Rejects with `store-unavailable`. */
  async ask<Reply>(command: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    const { patienceMs, schedule } = this.#address
    const client = await this.#open()
    await this.#connected(client)
    let outcome: { readonly reply: Reply } | { readonly error: unknown } | undefined
    const replied = command(client).then(
      (reply) => {
        outcome = { reply }
      },
      (error: unknown) => {
        outcome = { error }
      },
    )
    await waitPatiently(patienceMs, replied, schedule)
    // TypeScript does not see that the promise assigns it.
    const settled = outcome as { readonly reply: Reply } | { readonly error: unknown } | undefined
    if (settled === undefined) throw this.failure(new Error(`it did not answer within ${patienceMs} ms`))
    if ('error' in settled) throw this.failure(settled.error)
    return settled.reply
  }

  /** Runs a script, by its hash if Redis knows it. */
  async run(script: Script, keys: readonly string[], ...args: Argument[]) {
    try {
      return await this.ask((client) => client.evalsha(script.sha1, keys.length, ...keys, ...args))
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return await this.ask((client) => client.eval(script.lua, keys.length, ...keys, ...args))
    }
  }

  /** Another client of the same Redis, for commands that block their connection. */
  async duplicate(): Promise<RedisClient> {
    const client = (await this.#open()).duplicate()
    client.on('error', () => {})
    return client
  }

  close(): void {
    if (!this.#isOwn) return
    // A client that could not be created need not be closed.
    this.#client?.then((client) => client.disconnect()).catch(() => {})
  }

  /** Converts a failure of Redis. The commands and arguments in the client's errors are left out. */
  failure(thrown: unknown): ToolcribError {
    if (thrown instanceof ToolcribError) return thrown
    const reason = describeError(thrown)
    const cause = Object.assign(new Error(reason), { name: thrown instanceof Error ? thrown.name : 'Error' })
    return new ToolcribError('store-unavailable', `Redis at ${this.#host} cannot be used: ${reason}`, {
      cause,
    })
  }

  #open(): Promise<RedisClient> {
    this.#client ??= openClient(this.#address).then((client) => this.#watch(client))
    return this.#client
  }

  #watch(client: RedisClient): RedisClient {
    this.#isReady = client.status === 'ready'
    client.on('error', (error) => {
      this.#lastError = error
    })
    client.on('ready', () => {
      this.#isReady = true
      this.#isAway = false
      for (const wake of this.#whenReady.splice(0)) wake()
    })
    client.on('close', () => {
      this.#isReady = false
    })
    return client
  }

  async #connected(client: RedisClient): Promise<void> {
    if (this.#isReady) return
    if (client.status === 'wait')
      client.connect().catch((error: unknown) => {
        this.#lastError ??= error
      })
    if (!this.#isAway) {
      const ready = new Promise<void>((resolve) => this.#whenReady.push(resolve))
      await waitPatiently(this.#address.patienceMs, ready, this.#address.schedule)
    }
    if (this.#isReady) return
    this.#isAway = true
    throw this.failure(this.#lastError ?? new Error('there is no connection'))
  }
}

/** A Redis script, and its hash. */
export interface Script {
  readonly lua: string
  readonly sha1: string
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof ToolcribError && error.message.includes('NOSCRIPT')
}
