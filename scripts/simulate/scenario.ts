import { ToolRegistry } from 'toolcrib'
import { redisStore } from 'toolcrib/redis'
import { fileStore, type Store } from 'toolcrib/stores'
import { SessionLedger } from './session-ledger.ts'
import { Network, type Outcome, SimClient, summary, textOf } from './sim-client.ts'
import { ProcessDisk, SimDisk } from './sim-disk.ts'
import { SimRedis, SimRedisClient } from './sim-redis.ts'
import { type Backing, SimReplica, STORE_FOLDER } from './sim-replica.ts'
import { SimServers, TOPICS } from './sim-server.ts'
import { Troubles } from './troubles.ts'
import { Violation, World } from './world.ts'

export interface SeedReport {
  readonly seed: number
  readonly steps: number
  readonly trace: readonly string[]
  readonly counts: Readonly<Record<string, number>>
  readonly violation?: string
}

const MAX_STEPS = 60_000
/** How long a client may take to answer: a call that waits for one that is gone ends then. */
const ASK_TIMEOUT_MS = 60_000
/** How soon a call ends that was cancelled, where nothing is wrong. */
const CANCEL_MS = 5_000

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

const ACTIONS = [
  'search',
  'search',
  'call',
  'call',
  'ask',
  'slow',
  'cancel',
  'list',
  'door',
  'denied',
  'guarded',
] as const
type Action = (typeof ACTIONS)[number]

class Scenario {
  readonly #world: World
  readonly #seed: number
  readonly #backing: Backing
  readonly #servers = new SimServers()
  readonly #network: Network
  readonly #ledger: SessionLedger
  readonly #troubles: Troubles
  readonly #counts: Record<string, number> = {}
  #clients: readonly SimClient[] = []
  readonly #maxActive: number
  readonly #isCalm: boolean
  /** Whether messages get lost. */
  readonly #isLossy: boolean
  #failure: unknown
  #clientsDone = 0
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
    this.#ledger = new SessionLedger({ maxActive: this.#maxActive, isCalm: this.#isCalm })
    this.#troubles = new Troubles(world, {
      network: this.#network,
      backing: this.#backing,
      ledger: this.#ledger,
      start: (name) => this.#start(name),
    })
    if (this.#backing instanceof SimRedis)
      this.#backing.onWrite = (key, value) => {
        const session = /\{session:(.+)\}$/.exec(key)?.[1]
        if (session !== undefined && value) this.#wrote(session, value.subarray(17).toString(), true)
      }
    else
      this.#backing.onWrite = (key, value) => {
        const session = /^session:(.+)$/.exec(key)?.[1]
        if (session !== undefined) this.#wrote(session, value.toString(), false)
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
      counts: { ...this.#counts, ...this.#troubles.counts },
      ...(this.#failure === undefined ? {} : { violation: String(text) }),
    }
  }

  async run(): Promise<void> {
    const world = this.#world
    // A folder belongs to one gateway; the next one may start while it ends.
    const count = this.#backing instanceof SimDisk ? 1 : 1 + world.upTo(2)
    for (let number = 1; number <= count; number++)
      this.#network.replicas.push(this.#start(`replica-${number}`))
    const clients = Array.from({ length: 2 + world.upTo(3) }, (_, at) => {
      const who = world.chance(0.5) ? 'ada' : 'bob'
      const era = world.chance(0.65) ? 'legacy' : 'modern'
      return new SimClient(world, this.#network, { label: `client-${at + 1}`, who, era })
    })
    this.#clients = clients
    for (const client of clients) void this.#guard(this.#live(client)).then(() => this.#clientsDone++)
    if (!this.#isCalm) void this.#guard(this.#troubles.run())
    void this.#guard(this.#changeList())
    void this.#guard(this.#finish(clients))
    const isDone = () => this.#failure !== undefined || this.#isFinished
    await world.run(isDone, () => this.#check())
    if (!isDone()) this.fail(new Violation('it stopped before everything was answered'))
  }

  /** Work that goes on beside the rest: what it throws fails the seed. */
  async #guard(work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) => this.fail(error))
  }

  /** What must hold at every moment, beside what is looked at with each write and each answer. */
  #check(): void {
    if (this.#servers.secrets > 0) this.fail(new Violation('a denied tool ran'))
    if (this.#world.steps > MAX_STEPS)
      this.fail(new Violation(`${this.#network.underWay} requests are not answered after ${MAX_STEPS} steps`))
  }

  #wrote(session: string, text: string, isCurrent: boolean): void {
    try {
      this.#ledger.wrote(session, text, isCurrent)
    } catch (error) {
      this.fail(error)
    }
  }

  #start(name: string): SimReplica {
    const breaks = !this.#isLossy || this.#troubles.isOver ? 0 : this.#world.pick([0, 0.002, 0.02])
    this.#world.note(`${name} starts; a message is lost with ${breaks}`)
    return new SimReplica(this.#world, this.#backing, this.#servers, {
      name,
      maxActive: this.#maxActive,
      breaks,
      askTimeoutMs: ASK_TIMEOUT_MS,
      onDamaged: (error) => this.fail(new Violation(error.message)),
    })
  }

  /** What one client does. */
  async #live(client: SimClient): Promise<void> {
    const world = this.#world
    const actions = 5 + world.upTo(6)
    for (let action = 0; action < actions; action++) {
      await world.sleep(world.random() * 3_000)
      if (client.era === 'legacy' && client.session === undefined) {
        const { losses } = this.#backing
        const outcome = await client.connect()
        world.note(`${client.label} connects: ${summary(outcome)}`)
        if (client.session === undefined) continue
        const isKept = outcome.kind === 'answered' && outcome.isCalm && losses === this.#backing.losses
        if (isKept) this.#ledger.opened(client.session)
      }
      await this.#act(client)
    }
  }

  async #act(client: SimClient): Promise<void> {
    const action = this.#world.pick(ACTIONS)
    // Two at once, at any replicas: what both of them check out is kept. Where tools make room, the order would matter.
    const isTwice = action === 'search' && !this.#ledger.isTight && this.#world.chance(0.5)
    await Promise.all(Array.from({ length: isTwice ? 2 : 1 }, () => this.#do(client, action)))
  }

  async #do(client: SimClient, action: Action): Promise<void> {
    const { session } = client
    const nonce = `${client.label}/${this.#world.newId()}`
    if (action === 'guarded') return this.#doGuarded(client, nonce)
    const { losses } = this.#backing
    const before = this.#excuses()
    const { outcome, cancelledAt } = await this.#send(client, action, nonce)
    this.#counts[action] = (this.#counts[action] ?? 0) + 1
    this.#world.note(`${client.label} ${action} ${nonce}: ${summary(outcome)}`)
    if (outcome.kind === 'cut') {
      this.#counts.cut = (this.#counts.cut ?? 0) + 1
      return
    }
    const text = textOf(outcome.message)
    if (client.era === 'legacy' && outcome.status === 404) return this.#sessionGone(client, outcome)
    const ran = this.#servers.runs.get(nonce) ?? 0
    if (ran > 1) throw new Violation(`${nonce} ran ${ran} times`)
    // What was saved for this answer may be lost before it arrives.
    const isCertain = outcome.isCalm && losses === this.#backing.losses && outcome.replica.isAlive
    if (action === 'search' && session !== undefined) this.#ledger.searched(session, text, isCertain)
    if (action === 'list') this.#ledger.listed(namesOf(outcome))
    if (action === 'search' || action === 'list' || action === 'denied') return
    const isRight = text?.startsWith(`ran ${nonce}`) === true
    if (text?.startsWith('ran ') && !isRight) throw new Violation(`${nonce} was answered with ${text}`)
    if (isRight && ran !== 1) throw new Violation(`${nonce} was answered, but ran ${ran} times`)
    // A server that asks for the first time, while others use its connection, is refused: nobody is guessed.
    if (isRight && text.includes(' says ') && !text.includes(`${client.label} says ${nonce}`))
      throw new Violation(`${nonce} asked, and was answered ${text}`)
    if (this.#isCalm && cancelledAt !== undefined && this.#world.now - cancelledAt > CANCEL_MS)
      throw new Violation(`${nonce} went on though it was cancelled`)
    if (isRight || (cancelledAt !== undefined && Object.keys(outcome.message).length === 0)) return
    this.#counts.failed = (this.#counts.failed ?? 0) + 1
    // A store that is away, slow, read-only or full is no reason to fail.
    const after = this.#excuses()
    // The time that a server has for a call goes on meanwhile.
    const isTooLate = !this.#isCalm && text?.includes('did not respond') === true
    const isExcused = before.count !== after.count || before.isLossy || after.isLossy || isTooLate
    if (!isExcused)
      throw new Violation(`${nonce} failed though nothing was wrong: ${JSON.stringify(outcome.message)}`)
  }

  /** A call that needs a person: it runs once somebody at any replica allows it, once, and for the client that waits. */
  async #doGuarded(client: SimClient, nonce: string): Promise<void> {
    const world = this.#world
    const direct = { name: 'sim__guarded', arguments: { nonce } }
    const call = world.chance(0.5) ? direct : { name: 'call_tool', arguments: direct }
    const runs = () => this.#servers.runs.get(nonce) ?? 0
    const before = this.#excuses()
    const asked = await client.request('tools/call', call)
    world.note(`${client.label} guarded ${nonce}: ${summary(asked)}`)
    if (runs() > 0) throw new Violation(`${nonce} ran before anybody allowed it`)
    const decision = world.pick(['once', 'once', 'deny', 'nothing'] as const)
    const isDecided = decision !== 'nothing' && (await this.#decide(nonce, decision))
    world.note(`somebody answers ${nonce}: ${decision}, ${isDecided ? 'done' : 'nothing waits'}`)
    const stranger = this.#clients.find(({ who, era }) => who !== client.who && era === 'modern')
    if (stranger) await stranger.request('tools/call', call)
    if (stranger && runs() > 0) throw new Violation(`${stranger.label} used what ${client.label} was granted`)
    const outcome = await client.request('tools/call', call)
    world.note(`${client.label} guarded ${nonce} again: ${summary(outcome)}`)
    this.#counts.guarded = (this.#counts.guarded ?? 0) + 1
    const isAllowed = isDecided && decision === 'once'
    if (runs() > 0 && decision !== 'once') throw new Violation(`${nonce} ran, and nobody allowed it`)
    await client.request('tools/call', call)
    if (runs() > 1) throw new Violation(`${nonce} ran ${runs()} times with one grant`)
    const isExcused = before.count !== this.#excuses().count || before.isLossy || this.#excuses().isLossy
    const isCalm = asked.kind === 'answered' && outcome.kind === 'answered' && outcome.isCalm
    if (isAllowed && isCalm && !isExcused && outcome.status !== 404 && runs() === 0)
      throw new Violation(`${nonce} was allowed and did not run: ${JSON.stringify(outcome.message)}`)
  }

  /** Whether a person's answer was taken, at any replica. */
  async #decide(nonce: string, decision: 'once' | 'deny'): Promise<boolean> {
    const replica = this.#world.pick(this.#network.replicas)
    const decided = async () => {
      const { pending } = await replica.gateway.approvals.list()
      const waiting = pending.find(({ args }) => (args as { nonce?: string }).nonce === nonce)
      return (
        waiting !== undefined && (await replica.gateway.approvals.decide(waiting.id, decision)) !== undefined
      )
    }
    if (!replica.isAlive) return false
    return Promise.race([decided().catch(() => false), replica.died.then(() => false)])
  }

  /** Why a call may fail: a replica ended, the store lost its data, or messages get lost on the way to it or to servers. */
  #excuses(): { readonly count: number; readonly isLossy: boolean } {
    const isLossy = this.#network.replicas.some(({ breaks }) => breaks > 0)
    return { count: this.#troubles.losses, isLossy }
  }

  async #send(
    client: SimClient,
    action: Action,
    nonce: string,
  ): Promise<{ readonly outcome: Outcome; readonly cancelledAt?: number }> {
    const slow = { name: 'sim__slow', arguments: { nonce } }
    if (action === 'cancel' && client.era === 'legacy') return client.cancel(slow)
    if (action === 'list') return { outcome: await client.request('tools/list', {}) }
    return { outcome: await client.request('tools/call', this.#callOf(client, action, nonce), nonce) }
  }

  #callOf({ who }: SimClient, action: Action, nonce: string): { name: string; arguments: object } {
    const call = (name: string) => ({ name, arguments: { nonce } })
    if (action === 'search')
      return { name: 'tool_search', arguments: { query: `find a ${this.#world.pick(TOPICS)}`, limit: 2 } }
    if (action === 'slow' || action === 'cancel') return call('sim__slow')
    if (action === 'ask') return call('sim__ask')
    if (action === 'door') return { name: 'call_tool', arguments: call('sim__echo') }
    // Only bob is denied something.
    if (action === 'call' || who === 'ada') return call('sim__echo')
    const spelling = this.#world.pick(['sim__secret', 'mcp__sim__secret', 'secret', 'call_tool'])
    return spelling === 'call_tool' ? { name: spelling, arguments: call('sim__secret') } : call(spelling)
  }

  /** A session that was opened while the store did its part is found by every replica whose store does. */
  #sessionGone(client: SimClient, outcome: Outcome & { kind: 'answered' }): void {
    if (outcome.isCalm && this.#ledger.isDurable(client.session ?? ''))
      throw new Violation(`${client.label} lost its session, though nothing was wrong`)
    this.#counts.reopened = (this.#counts.reopened ?? 0) + 1
    client.session = undefined
  }

  /** The server lists one more tool, and says so at one replica. */
  async #changeList(): Promise<void> {
    const world = this.#world
    await world.sleep(world.random() * 30_000)
    this.#servers.addTool('extra', world.pick(this.#network.replicas))
    world.note('the server lists another tool')
  }

  /** When the clients are done, everything is mended, and what must have survived is looked for. */
  async #finish(clients: readonly SimClient[]): Promise<void> {
    const world = this.#world
    while (this.#clientsDone < clients.length) await world.sleep(1_000)
    this.#troubles.heal()
    while (this.#network.underWay > 0) await world.sleep(1_000)
    await world.sleep(30_000)
    this.#check()
    if (this.#isCalm) await this.#tellEvictions(clients)
    await this.#expectSessions()
    await this.#expectLists()
    await world.sleep(ASK_TIMEOUT_MS)
    for (const { name, gateway } of this.#network.replicas) {
      const { callsUnderWay, callsParked } = gateway.status()
      if (callsUnderWay + callsParked > 0)
        throw new Violation(
          `${name} has ${callsUnderWay} calls under way and ${callsParked} parked at the end`,
        )
    }
    this.#isFinished = true
  }

  async #expectSessions(): Promise<void> {
    const store = this.#openStore()
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: this.#maxActive })
    for (const id of this.#ledger.sessions) {
      const session = await registry.openSession({ id: `gateway:${id}`, store })
      this.#ledger.restored(session.id, session.toJSON().activations)
    }
  }

  /** A list that changes at one replica changes at all of them, whatever happened before. */
  async #expectLists(): Promise<void> {
    const { replicas } = this.#network
    const replica = this.#world.pick(replicas)
    // Where it does not run, it starts.
    await replica.servers.request('sim', { method: 'ping' })
    if (!this.#servers.addTool('newest', replica)) throw new Violation('the server does not run')
    await this.#world.sleep(30_000)
    for (const { name, servers } of replicas) {
      const tools = servers.tools('sim')
      if (tools && !tools.some(({ name }) => name.endsWith('newest')))
        throw new Violation(`${name} does not know the tool that another replica found`)
    }
  }

  #openStore(): Store {
    const world = this.#world
    const host = { isAlive: true, breaks: 0, act: () => {} }
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
    const search = { name: 'tool_search', arguments: { query: 'zzz' } }
    for (const replica of this.#network.replicas) {
      this.#network.only = replica
      for (const client of clients) {
        const { session } = client
        if (session === undefined) continue
        const outcome = await client.request('tools/call', search)
        this.#world.note(`${client.label} searches at the end: ${summary(outcome)}`)
        if (outcome.kind === 'answered')
          this.#ledger.searched(session, textOf(outcome.message), outcome.isCalm)
      }
    }
  }
}

function namesOf({ message }: Outcome & { kind: 'answered' }): readonly string[] {
  const tools = (message.result as { tools?: { name: string }[] } | undefined)?.tools ?? []
  return tools.map(({ name }) => name)
}
