import { ToolRegistry } from 'toolcrib'
import { redisStore } from 'toolcrib/redis'
import { fileStore, type Store } from 'toolcrib/stores'
import { Network, type Outcome, SimClient, summary, textOf } from './sim-client.ts'
import { ProcessDisk, SimDisk } from './sim-disk.ts'
import { SimRedis, SimRedisClient } from './sim-redis.ts'
import { type Backing, SimReplica, STORE_FOLDER } from './sim-replica.ts'
import { Deeds, TOPICS } from './sim-server.ts'
import { Violation, World } from './world.ts'

export interface SeedReport {
  readonly seed: number
  readonly steps: number
  readonly trace: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  readonly violation?: string
}

const MAX_STEPS = 60_000

/** Runs one seed: replicas, servers, clients, a Redis, and whatever happens to them. */
export async function runSeed(seed: number): Promise<SeedReport> {
  const world = new World(seed)
  world.install()
  const scenario = new Scenario(world, seed)
  const rejected = (error: unknown) => scenario.fail(error)
  process.on('unhandledRejection', rejected)
  try {
    await scenario.run()
    return scenario.report()
  } finally {
    process.off('unhandledRejection', rejected)
    world.uninstall()
  }
}

class Scenario {
  readonly #world: World
  readonly #seed: number
  readonly #backing: Backing
  readonly #deeds = new Deeds()
  readonly #network: Network
  readonly #counts: Record<string, number> = {}
  /** What each session was told is checked out, by a replica whose store did its part. */
  readonly #kept = new Map<string, Set<string>>()
  /** Sessions that were opened by a replica whose store did its part. */
  readonly #durable = new Set<string>()
  /** Every state that was ever stored, of each session. */
  readonly #history = new Map<string, Set<string>>()
  readonly #maxActive: number
  readonly #isCalm: boolean
  /** Whether messages get lost. */
  readonly #isLossy: boolean
  #lossesSeen = 0
  /** How many replicas were killed or stopped. */
  #ends = 0
  #failure: unknown
  #clientsDone = 0
  #isHealed = false
  #isFinished = false

  constructor(world: World, seed: number) {
    this.#world = world
    this.#seed = seed
    this.#backing = world.chance(0.3) ? new SimDisk(world) : new SimRedis(world)
    this.#network = new Network(world)
    this.#isCalm = world.chance(0.2)
    this.#isLossy = !this.#isCalm && world.chance(0.6)
    this.#maxActive = world.chance(0.5) ? 24 : 3
    this.#network.duplicates = this.#isCalm ? 0 : 0.1
    if (this.#backing instanceof SimRedis)
      this.#backing.onWrite = (key, value) => {
        const session = /\{session:(.+)\}$/.exec(key)?.[1]
        if (session !== undefined && value) this.#written(session, value.subarray(17).toString(), true)
      }
    else
      this.#backing.onWrite = (key, value) => {
        const session = /^session:(.+)$/.exec(key)?.[1]
        if (session !== undefined) this.#written(session, value.toString(), false)
      }
  }

  fail(error: unknown): void {
    this.#failure ??= error
  }

  report(): SeedReport {
    const { steps, trace } = this.#world
    const text =
      this.#failure instanceof Error ? (this.#failure.stack ?? this.#failure.message) : this.#failure
    return {
      seed: this.#seed,
      steps,
      trace,
      counts: this.#counts,
      ...(this.#failure === undefined ? {} : { violation: String(text) }),
    }
  }

  async run(): Promise<void> {
    const world = this.#world
    // A folder belongs to one gateway; the next one may start while it ends.
    const count = this.#backing instanceof SimDisk ? 1 : 2 + Math.floor(world.random() * 2)
    for (let number = 1; number <= count; number++)
      this.#network.replicas.push(this.#start(`replica-${number}`))
    const clients = Array.from({ length: 3 + Math.floor(world.random() * 3) }, (_, at) => {
      const who = world.chance(0.5) ? 'ada' : 'bob'
      const era = world.chance(0.65) ? 'legacy' : 'modern'
      return new SimClient(world, this.#network, { label: `client-${at + 1}`, who, era })
    })
    for (const client of clients)
      this.#live(client)
        .catch((error: unknown) => this.fail(error))
        .finally(() => this.#clientsDone++)
    if (!this.#isCalm) void this.#trouble().catch((error: unknown) => this.fail(error))
    void this.#finish(clients).catch((error: unknown) => this.fail(error))
    const isDone = () => this.#failure !== undefined || this.#isFinished
    await world.run(isDone, () => this.#check())
    if (!isDone()) this.fail(new Violation('it stopped before everything was answered'))
  }

  /** Invariants that hold at every moment. */
  #check(): void {
    if (this.#deeds.secrets > 0) this.fail(new Violation('a denied tool ran'))
    if (this.#world.steps > MAX_STEPS)
      this.fail(new Violation(`${this.#network.underWay} requests are not answered after ${MAX_STEPS} steps`))
    if (this.#backing.losses !== this.#lossesSeen) {
      this.#lossesSeen = this.#backing.losses
      this.#kept.clear()
      this.#durable.clear()
    }
  }

  /** Takes note of a state that is written; `isCurrent` is false where another one may be written in its place. */
  #written(session: string, text: string, isCurrent: boolean): void {
    const { activations } = JSON.parse(text) as { activations: { name: string; isKept: boolean }[] }
    const counted = activations.filter(({ isKept }) => !isKept)
    if (counted.length > this.#maxActive)
      this.fail(new Violation(`${counted.length} tools are checked out; the cap is ${this.#maxActive}`))
    const known = this.#history.get(session) ?? new Set()
    known.add(JSON.stringify(activations))
    this.#history.set(session, known)
    if (!isCurrent || this.#maxActive <= TOPICS.length || this.#backing.losses !== this.#lossesSeen) return
    // Where nothing has to make room, whatever a client was told is checked out stays so, with every single write.
    const names = new Set(activations.map(({ name }) => name.replace(/^mcp__/, '')))
    for (const name of this.#kept.get(session.replace(/^gateway:/, '')) ?? [])
      if (!names.has(name)) this.fail(new Violation(`the session ${session} was written without ${name}`))
  }

  #start(name: string): SimReplica {
    const breaks = !this.#isLossy || this.#isHealed ? 0 : this.#world.pick([0, 0.002, 0.02])
    this.#world.note(`${name} starts; a message is lost with ${breaks}`)
    return new SimReplica(this.#world, this.#backing, this.#deeds, {
      name,
      maxActive: this.#maxActive,
      breaks,
      onDamaged: (error) => this.fail(new Violation(error.message)),
    })
  }

  /** What one client does. */
  async #live(client: SimClient): Promise<void> {
    const world = this.#world
    const actions = 6 + Math.floor(world.random() * 6)
    for (let action = 0; action < actions; action++) {
      await world.sleep(world.random() * 3_000)
      if (client.era === 'legacy' && client.session === undefined) {
        const { losses } = this.#backing
        const outcome = await client.connect()
        world.note(`${client.label} connects: ${summary(outcome)}`)
        if (client.session === undefined) continue
        const isKept = outcome.kind === 'answered' && outcome.isCalm && losses === this.#backing.losses
        if (isKept) this.#durable.add(client.session)
      }
      await this.#act(client)
    }
  }

  async #act(client: SimClient): Promise<void> {
    const kind = this.#world.pick([
      'search',
      'search',
      'call',
      'call',
      'ask',
      'slow',
      'list',
      'door',
      'denied',
    ])
    // Two at once, at any replicas: what both of them check out is kept. Where tools make room, the order would matter.
    const isTwice = kind === 'search' && this.#maxActive > TOPICS.length && this.#world.chance(0.5)
    await Promise.all(Array.from({ length: isTwice ? 2 : 1 }, () => this.#do(client, kind)))
  }

  async #do(client: SimClient, kind: string): Promise<void> {
    const { session } = client
    const nonce = `${client.label}/${this.#world.newId()}`
    const { losses } = this.#backing
    const before = this.#excuses()
    const outcome = await this.#send(client, kind, nonce)
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
    this.#world.note(`${client.label} ${kind} ${nonce}: ${summary(outcome)}`)
    if (outcome.kind === 'cut') {
      this.#counts.cut = (this.#counts.cut ?? 0) + 1
      return
    }
    const text = textOf(outcome.message)
    if (client.era === 'legacy' && outcome.status === 404) return this.#sessionGone(client, outcome)
    const ran = this.#deeds.runs.get(nonce) ?? 0
    if (ran > 1) throw new Violation(`${nonce} ran ${ran} times`)
    // What was saved for this answer may be lost before it arrives.
    const isCalm = outcome.isCalm && losses === this.#backing.losses
    if (kind === 'search' && session !== undefined) this.#searched(session, { ...outcome, isCalm }, text)
    if (kind === 'list') this.#listed(outcome)
    if (!['call', 'ask', 'slow', 'door'].includes(kind)) return
    const isRight = text?.startsWith(`ran ${nonce}`) === true
    if (text?.startsWith('ran ') && !isRight) throw new Violation(`${nonce} was answered with ${text}`)
    if (isRight && ran !== 1) throw new Violation(`${nonce} was answered, but ran ${ran} times`)
    // A server that asks for the first time, while others use its connection, is refused: nobody is guessed.
    if (isRight && text.includes(' says ') && !text.includes(`${client.label} says ${nonce}`))
      throw new Violation(`${nonce} asked, and was answered ${text}`)
    if (!isRight) this.#counts.failed = (this.#counts.failed ?? 0) + 1
    // A store that is away, slow, read-only or full is no reason to fail.
    const after = this.#excuses()
    // The time that a server has for a call goes on meanwhile.
    const isTooLate = !this.#isCalm && text?.includes('did not respond') === true
    const isExcused = before.count !== after.count || before.isLossy || after.isLossy || isTooLate
    if (!isRight && !isExcused)
      throw new Violation(`${nonce} failed though nothing was wrong: ${JSON.stringify(outcome.message)}`)
  }

  /** Why a call may fail: a replica ended, the store lost its data, or messages get lost on the way to it or to servers. */
  #excuses(): { readonly count: number; readonly isLossy: boolean } {
    const isLossy = this.#network.replicas.some(({ breaks }) => breaks > 0)
    return { count: this.#ends + this.#backing.losses, isLossy }
  }

  #send(client: SimClient, kind: string, nonce: string): Promise<Outcome> {
    const call = (name: string, given: object) =>
      client.request('tools/call', { name, arguments: given }, nonce)
    if (kind === 'list') return client.request('tools/list', {})
    if (kind === 'search')
      return call('tool_search', { query: `find a ${this.#world.pick(TOPICS)}`, limit: 2 })
    if (kind === 'call') return call('sim__echo', { nonce })
    if (kind === 'slow') return call('sim__slow', { nonce })
    if (kind === 'ask') return call('sim__ask', { nonce })
    if (kind === 'door') return call('call_tool', { name: 'sim__echo', arguments: { nonce } })
    // Only bob is denied it.
    if (client.who === 'ada') return call('sim__echo', { nonce })
    const spelling = this.#world.pick(['sim__secret', 'mcp__sim__secret', 'secret', 'call_tool'])
    return spelling === 'call_tool'
      ? call('call_tool', { name: 'sim__secret', arguments: { nonce } })
      : call(spelling, { nonce })
  }

  /** A session that was opened while the store did its part is found by every replica whose store does. */
  #sessionGone(client: SimClient, outcome: Outcome & { kind: 'answered' }): void {
    if (outcome.isCalm && this.#durable.has(client.session ?? ''))
      throw new Violation(`${client.label} lost its session, though nothing was wrong`)
    this.#counts.reopened = (this.#counts.reopened ?? 0) + 1
    client.session = undefined
  }

  #searched(
    session: string,
    { isCalm, replica }: Outcome & { kind: 'answered' },
    text: string | undefined,
  ): void {
    const answer = text?.startsWith('{')
      ? (JSON.parse(text) as { activated?: string[]; evicted?: string[] })
      : {}
    const { activated = [], evicted = [] } = answer
    if (this.#maxActive < TOPICS.length && activated.length > this.#maxActive)
      throw new Violation(`a search checked ${activated.length} tools out; the cap is ${this.#maxActive}`)
    const kept = this.#kept.get(session) ?? new Set()
    this.#kept.set(session, kept)
    if (isCalm && replica.isAlive) for (const name of activated) kept.add(name)
    for (const name of evicted) kept.delete(name)
  }

  #listed({ message }: Outcome & { kind: 'answered' }): void {
    const tools = (message.result as { tools?: { name: string }[] } | undefined)?.tools ?? []
    const names = tools.map(({ name }) => name)
    if (new Set(names).size !== names.length)
      throw new Violation(`a list names a tool twice: ${names.join(', ')}`)
    const active = names.filter((name) => name.startsWith('sim__'))
    if (active.length > this.#maxActive)
      throw new Violation(`a list shows ${active.length} tools; the cap is ${this.#maxActive}`)
  }

  /** What happens to the replicas and to Redis. */
  async #trouble(): Promise<void> {
    const world = this.#world
    while (!this.#isHealed) {
      await world.sleep(world.random() * 6_000)
      if (this.#isHealed) return
      const kind = world.pick([
        'kill',
        'kill at a step',
        'stop',
        'down',
        'slow',
        'read-only',
        'full',
        'lose',
        'crash-all',
      ])
      world.note(`trouble: ${kind}`)
      this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
      if (kind === 'kill') this.#replace(world.pick(this.#network.replicas), (replica) => replica.kill())
      if (kind === 'kill at a step')
        world.inSteps(1 + Math.floor(world.random() * 300), () =>
          this.#replace(world.pick(this.#network.replicas), (replica) => replica.kill()),
        )
      if (kind === 'crash-all' || (kind === 'lose' && this.#backing instanceof SimDisk))
        for (const replica of [...this.#network.replicas]) this.#replace(replica, (each) => each.kill())
      if (kind === 'stop') this.#replace(world.pick(this.#network.replicas), (replica) => void replica.stop())
      if (kind === 'lose') this.#lose()
      if (kind !== 'down' && kind !== 'slow' && kind !== 'read-only' && kind !== 'full') continue
      this.#backing.fault = kind
      await world.sleep(world.random() * 20_000)
      if (kind === 'down' && world.chance(0.3) && this.#backing instanceof SimRedis) this.#lose()
      this.#backing.fault = 'none'
      world.note('the store works again')
    }
  }

  /** Redis loses everything; a disk, together with all processes, loses what was not on it yet. */
  #lose(): void {
    if (this.#backing instanceof SimRedis) this.#backing.lose()
    else this.#backing.losePower()
  }

  #replace(replica: SimReplica, end: (replica: SimReplica) => void): void {
    if (!replica.isAlive || replica.isDraining) return
    this.#ends++
    end(replica)
    this.#world.schedule(this.#world.random() * 3_000, () => {
      const { replicas } = this.#network
      replicas.splice(replicas.indexOf(replica), 1, this.#start(replica.name))
    })
  }

  /** When the clients are done, everything is mended, and what must have survived is looked for. */
  async #finish(clients: readonly SimClient[]): Promise<void> {
    const world = this.#world
    while (this.#clientsDone < clients.length) await world.sleep(1_000)
    this.#isHealed = true
    this.#backing.fault = 'none'
    for (const replica of this.#network.replicas) replica.breaks = 0
    while (this.#network.underWay > 0) await world.sleep(1_000)
    await world.sleep(30_000)
    this.#check()
    if (this.#isCalm) await this.#tellEvictions(clients)
    const store = this.#openStore()
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: this.#maxActive })
    for (const [id, kept] of this.#kept) {
      const session = await registry.openSession({ id: `gateway:${id}`, store })
      const { activations } = session.toJSON()
      if (activations.length > 0 && !this.#history.get(`gateway:${id}`)?.has(JSON.stringify(activations)))
        throw new Violation(`the session ${id} was restored as it never was: ${JSON.stringify(activations)}`)
      const names = activations.map(({ name }) => name.replace(/^mcp__/, ''))
      const lost = [...kept].filter((name) => !names.includes(name))
      // Where replicas died, what was evicted may be untold; what was kept is not.
      if (lost.length > 0 && (this.#maxActive > TOPICS.length || this.#isCalm))
        throw new Violation(`the session ${id} lost ${lost.join(', ')}; it has ${names.join(', ')}`)
    }
    this.#isFinished = true
  }

  #openStore(): Store {
    const world = this.#world
    const host = { isAlive: true, breaks: 0 }
    const schedule = (delayMs: number, fire: () => void) => world.schedule(delayMs, fire)
    if (this.#backing instanceof SimRedis)
      return redisStore({ client: new SimRedisClient(world, this.#backing, host), schedule })
    return fileStore({
      directory: STORE_FOLDER,
      disk: new ProcessDisk(world, this.#backing, host),
      clock: () => world.now,
      schedule,
      onDamaged: (error) => this.fail(new Violation(error.message)),
    })
  }

  /** Each replica names what it evicted from a session with its next search there. */
  async #tellEvictions(clients: readonly SimClient[]): Promise<void> {
    for (const replica of this.#network.replicas) {
      this.#network.only = replica
      for (const client of clients) {
        const { session } = client
        if (session === undefined) continue
        const nonce = this.#world.newId()
        const outcome = await client.request(
          'tools/call',
          { name: 'tool_search', arguments: { query: 'zzz' } },
          nonce,
        )
        this.#world.note(`${client.label} searches at the end: ${summary(outcome)}`)
        if (outcome.kind === 'answered') this.#searched(session, outcome, textOf(outcome.message))
      }
    }
  }
}
