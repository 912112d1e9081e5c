import { ToolRegistry } from 'toolcrib'
import { createGateway, GATEWAY_CAPABILITIES, type Gateway } from 'toolcrib/gateway'
import { type ConnectedServers, connectServers } from 'toolcrib/mcp'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { type WatchedStore, watchStore } from 'toolcrib/stores'
import { type SimRedis, SimRedisClient } from './sim-redis.ts'
import { type Deeds, openSimServer } from './sim-server.ts'
import type { World } from './world.ts'

export const TOKENS = { ada: 'ada-has-a-long-token', bob: 'bob-has-another-token' }

export interface ReplicaSettings {
  readonly name: string
  readonly maxActive: number
  /** How likely each message is to be lost, with its connection. */
  readonly breaks: number
}

/** One gateway process, with its servers. */
export class SimReplica {
  readonly name: string
  breaks: number
  isAlive = true
  isDraining = false
  readonly redis: SimRedisClient
  readonly gateway: Gateway
  readonly store: WatchedStore
  readonly servers: ConnectedServers
  /** Resolves when the process ends. */
  readonly died: Promise<void>
  #die = () => {}

  constructor(world: World, redis: SimRedis, deeds: Deeds, { name, maxActive, breaks }: ReplicaSettings) {
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
    this.redis = new SimRedisClient(world, redis, this)
    const where = { client: this.redis, schedule }
    const store = watchStore(redisStore({ ...where, random, newId }), { clock, schedule })
    this.store = store
    const registry = new ToolRegistry({ mode: 'lazy', searcher: 'lexical', maxActive, clock, newId })
    this.servers = connectServers(
      registry,
      { servers: { sim: { command: 'x', start: 'on-demand', timeoutMs: 30_000 } } },
      {
        open: openSimServer(world, deeds, this),
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
      announcements: redisAnnouncements(where),
      tokens: [
        { token: TOKENS.ada, name: 'ada' },
        { token: TOKENS.bob, name: 'bob', profile: 'narrow' },
      ],
      profiles: { narrow: { deny: ['mcp__sim__secret'] } },
      limits: { drainMs: 5_000, askTimeoutMs: 60_000 },
      now: clock,
      schedule,
      newId,
    })
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
