import { ToolRegistry } from 'toolcrib'
import { createGateway, GATEWAY_CAPABILITIES, type Gateway } from 'toolcrib/gateway'
import { type ConnectedServers, connectServers } from 'toolcrib/mcp'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { type Announcements, fileStore, type Store, type WatchedStore, watchStore } from 'toolcrib/stores'
import { ProcessDisk, type SimDisk } from './sim-disk.ts'
import { SimRedis, SimRedisClient } from './sim-redis.ts'
import { openSimServer, type SimServers } from './sim-server.ts'
import type { SimProcess, World } from './world.ts'

export const TOKENS = { ada: 'ada-has-a-long-token', bob: 'bob-has-another-token' }

/** Where replicas without a Redis keep their files. */
export const STORE_FOLDER = '/store'

export interface ReplicaSettings {
  readonly name: string
  readonly maxActive: number
  /** How likely each message is to be lost, with its connection. */
  readonly breaks: number
  readonly askTimeoutMs?: number
  /** Called when the store finds a damaged value. */
  readonly onDamaged?: (error: Error) => void
}

/** Where the replicas keep what outlives them: a Redis for all, or the disk of one machine. */
export type Backing = SimRedis | SimDisk

/** One gateway process, with its servers. */
export class SimReplica implements SimProcess {
  readonly name: string
  breaks: number
  isAlive = true
  isDraining = false
  readonly gateway: Gateway
  readonly store: WatchedStore
  readonly servers: ConnectedServers
  /** Resolves when the process ends. */
  readonly died: Promise<void>
  readonly #link: { readonly lastTrouble: number }
  #die = () => {}
  #actsLeft = Number.POSITIVE_INFINITY
  #lastAct = () => {}

  constructor(world: World, backing: Backing, servers: SimServers, settings: ReplicaSettings) {
    const { name, maxActive, breaks, askTimeoutMs = 60_000 } = settings
    this.name = name
    this.breaks = breaks
    this.died = new Promise((resolve) => {
      this.#die = resolve
    })
    const clock = () => world.now
    const schedule = (delayMs: number, fire: () => void) =>
      world.schedule(delayMs, () => {
        if (this.isAlive) fire()
      })
    const newId = () => world.newId()
    const random = () => world.random()
    let inner: Store
    let announcements: Announcements | undefined
    if (backing instanceof SimRedis) {
      const client = new SimRedisClient(world, backing, this)
      this.#link = client
      inner = redisStore({ client, schedule, random, newId })
      announcements = redisAnnouncements({ client, schedule })
    } else {
      const disk = new ProcessDisk(world, backing, this)
      this.#link = disk
      const { onDamaged = () => {} } = settings
      inner = fileStore({ directory: STORE_FOLDER, disk, clock, schedule, random, onDamaged })
    }
    const store = watchStore(inner, { clock, schedule })
    this.store = store
    const registry = new ToolRegistry({
      ...{ mode: 'lazy', searcher: 'lexical', maxActive, clock, newId },
      policy: { ask: ['mcp__sim__guarded'] },
    })
    this.servers = connectServers(
      registry,
      // By its address: looking for the program of a command would take real time.
      { servers: { sim: { url: 'http://sim.invalid/mcp', start: 'on-demand', timeoutMs: 30_000 } } },
      {
        open: openSimServer(world, servers, this),
        schedule,
        clock,
        random,
        store,
        client: { capabilities: GATEWAY_CAPABILITIES },
      },
    )
    this.gateway = createGateway({
      registry,
      servers: this.servers,
      store,
      ...(announcements ? { announcements } : {}),
      tokens: [
        { token: TOKENS.ada, name: 'ada' },
        { token: TOKENS.bob, name: 'bob', profile: 'narrow' },
      ],
      profiles: { narrow: { deny: ['mcp__sim__secret'] } },
      limits: { drainMs: 5_000, askTimeoutMs, askWaitMs: 1_000 },
      now: clock,
      schedule,
      newId,
    })
  }

  /** When an operation of its store last failed, or was left without a reply. */
  get lastTrouble(): number {
    return this.#link.lastTrouble
  }

  act(): void {
    if (--this.#actsLeft === 0) this.#lastAct()
  }

  /** Calls `fire` before the process does something to the world for this many times more. */
  inActs(count: number, fire: () => void): void {
    this.#actsLeft = count
    this.#lastAct = fire
  }

  /** `kill -9`: nothing it does from here on reaches anyone. */
  kill(): void {
    this.isAlive = false
    this.#die()
  }

  /** SIGTERM: calls under way are answered first. */
  async stop(): Promise<void> {
    this.isDraining = true
    await this.gateway.close()
    await this.servers.close()
    this.kill()
  }
}
