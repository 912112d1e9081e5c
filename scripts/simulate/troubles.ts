import type { SessionLedger } from './session-ledger.ts'
import type { Network } from './sim-client.ts'
import { SimDisk } from './sim-disk.ts'
import { SimRedis } from './sim-redis.ts'
import type { Backing, SimReplica } from './sim-replica.ts'
import type { World } from './world.ts'

const KINDS = [
  'kill',
  'kill at a step',
  'kill at an act',
  'stop',
  'down',
  'slow',
  'read-only',
  'full',
  'lose',
  'crash-all',
] as const

/** What the troubles happen to. */
interface Victims {
  readonly network: Network
  readonly backing: Backing
  readonly ledger: SessionLedger
  start(name: string): SimReplica
}

/** What happens to the replicas and to their store, until all is healed. */
export class Troubles {
  readonly counts: Record<string, number> = {}
  readonly #world: World
  readonly #victims: Victims
  /** How many replicas were killed or stopped. */
  #ends = 0
  #isOver = false

  constructor(world: World, victims: Victims) {
    this.#world = world
    this.#victims = victims
  }

  /** Whether everything is healed. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** How often a replica ended or the store lost its data. */
  get losses(): number {
    return this.#ends + this.#victims.backing.losses
  }

  async run(): Promise<void> {
    const world = this.#world
    while (!this.#isOver) {
      await world.sleep(world.random() * 6_000)
      if (this.#isOver) return
      const kind = world.pick(KINDS)
      world.note(`trouble: ${kind}`)
      this.counts[kind] = (this.counts[kind] ?? 0) + 1
      await this.#happen(kind)
    }
  }

  heal(): void {
    const { backing, network } = this.#victims
    this.#isOver = true
    backing.fault = 'none'
    for (const replica of network.replicas) replica.breaks = 0
  }

  async #happen(kind: (typeof KINDS)[number]): Promise<void> {
    const world = this.#world
    const { replicas } = this.#victims.network
    if (kind === 'kill') return this.#kill(world.pick(replicas))
    if (kind === 'kill at a step')
      return world.inSteps(world.upTo(300), () => this.#kill(world.pick(replicas)))
    if (kind === 'kill at an act') {
      const replica = world.pick(replicas)
      return replica.inActs(world.upTo(60), () => this.#kill(replica))
    }
    if (kind === 'stop') return this.#replace(world.pick(replicas), (replica) => void replica.stop())
    if (kind === 'crash-all') return this.#killAll()
    if (kind === 'lose') return this.#lose()
    await this.#disturbStore(kind)
  }

  async #disturbStore(kind: 'down' | 'slow' | 'read-only' | 'full'): Promise<void> {
    const world = this.#world
    const { backing } = this.#victims
    backing.fault = kind
    await world.sleep(world.random() * 20_000)
    if (kind === 'down' && world.chance(0.3) && backing instanceof SimRedis) this.#lose()
    backing.fault = 'none'
    world.note('the store works again')
  }

  /** Redis loses everything; a disk, together with all processes, loses what was not on it yet. */
  #lose(): void {
    const { backing, ledger } = this.#victims
    if (backing instanceof SimDisk) {
      this.#killAll()
      backing.losePower()
    } else backing.lose()
    ledger.forgive()
  }

  #killAll(): void {
    for (const replica of [...this.#victims.network.replicas]) this.#kill(replica)
  }

  #kill(replica: SimReplica): void {
    if (!this.#isOver) this.#replace(replica, () => replica.kill())
  }

  #replace(replica: SimReplica, end: (replica: SimReplica) => void): void {
    if (!replica.isAlive || replica.isDraining) return
    this.#ends++
    end(replica)
    this.#world.schedule(this.#world.random() * 3_000, () => {
      const { replicas } = this.#victims.network
      replicas.splice(replicas.indexOf(replica), 1, this.#victims.start(replica.name))
    })
  }
}
