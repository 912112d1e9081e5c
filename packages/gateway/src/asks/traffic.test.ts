import type { ClientOptions, ConnectedServers, Schedule } from '@toolcrib/mcp'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../json-rpc.ts'
import { ServerLoad } from '../load/load-limits.ts'
import { AskingServers } from './asking-servers.ts'
import { type ClientLine, canAnswer } from './client-line.ts'
import { ClientRoots } from './client-roots.ts'
import { PrivateConnections } from './private-connections.ts'
import { Traffic } from './traffic.ts'

const SERVER = 'older'
const LIMITS = { maxConnectionsPerServer: 0, maxQueuedPerServer: 0, maxCallsPerServer: 0 }

/** Somebody with a client: what the gateway can know of them, and who they really are. */
interface Person {
  readonly name: string
  readonly era: 'legacy' | 'modern'
  readonly token: string
  readonly capabilities: Json
  roots: string
  readonly hadRoots: Set<string>
}

interface Behaviour {
  readonly asks: boolean
  readonly isCancelled: boolean
}

/** A process of the server. It remembers the roots that it was told, and who answered its questions. */
interface ServerProcess {
  readonly sessionKey: string | undefined
  isAlive: boolean
  roots: string | undefined
  readonly answeredBy: Set<string>
}

/** The gateway's traffic with one older server, whose steps happen in an order that the test decides. */
class World {
  readonly traffic: Traffic
  readonly faults: string[] = []
  readonly #step: () => Promise<void>
  readonly #processes = new Map<string | undefined, ServerProcess>()
  readonly #isKnownToAsk: boolean
  readonly #limits: typeof LIMITS
  now = 0
  opened = 0
  most = 0
  #calls = 0

  constructor(step: () => Promise<void>, options: WorldOptions = {}) {
    const { isKnownToAsk = false, limits = {}, timer = () => new Promise<void>(() => {}) } = options
    this.#step = step
    this.#isKnownToAsk = isKnownToAsk
    this.#limits = { ...LIMITS, ...limits }
    const schedule: Schedule = (delayMs, fire) => {
      let isOn = true
      void timer().then(() => {
        if (!isOn) return
        this.now += delayMs
        fire()
      })
      return () => {
        isOn = false
      }
    }
    const servers = {
      info: () => ({ era: 'legacy' }),
      openSession: (sessionKey: string, _client: Partial<ClientOptions>) => {
        this.opened++
        this.#processes.set(sessionKey, newProcess(sessionKey))
        this.most = Math.max(this.most, this.alive)
      },
      closeSession: async (sessionKey: string) => {
        const process = this.#processes.get(sessionKey)
        if (process) process.isAlive = false
        this.#processes.delete(sessionKey)
      },
      notify: async () => {},
      mayAsk: () => true,
    } as unknown as ConnectedServers
    const services = { limits: this.#limits, now: () => this.now, schedule }
    const connections = new PrivateConnections(servers, () => ({}), services)
    const asking = new AskingServers(isKnownToAsk ? [SERVER] : [], undefined)
    const roots = new ClientRoots(schedule)
    this.traffic = new Traffic(
      servers,
      asking,
      connections,
      roots,
      new ServerLoad(this.#limits),
      () => this.now,
    )
    this.#processes.set(undefined, newProcess(undefined))
  }

  /** The private processes that run. */
  get alive(): number {
    return [...this.#processes.keys()].filter((key) => key !== undefined).length
  }

  /** One call of a client, as `Upstream` makes it. */
  async call(person: Person, { asks, isCancelled }: Behaviour): Promise<'answered' | 'refused'> {
    const call = `call ${++this.#calls} of ${person.name}`
    const abort = new AbortController()
    if (isCancelled) void this.#step().then(() => abort.abort(new Error('enough')))
    const line = this.#lineOf(person, call, abort.signal)
    try {
      const flight = await this.traffic.begin(SERVER, line)
      let isAnswered = false
      try {
        await this.#request(flight.sessionKey, { person, call, asks, line })
        isAnswered = true
      } finally {
        flight.end({ isAnswered })
      }
      return 'answered'
    } catch {
      return 'refused'
    }
  }

  /** The request is cancelled at once; the server goes on with it as long as its process lives. */
  #request(
    sessionKey: string | undefined,
    job: { person: Person; call: string; asks: boolean; line: ClientLine },
  ): Promise<void> {
    const process = this.#processes.get(sessionKey)
    if (!process) throw new Error('no such process')
    return new Promise((resolve, reject) => {
      job.line.signal.addEventListener('abort', () => reject(job.line.signal.reason))
      this.#work(process, job).then(resolve, reject)
    })
  }

  async #work(
    process: ServerProcess,
    { person, call, asks, line }: { person: Person; call: string; asks: boolean; line: ClientLine },
  ): Promise<void> {
    await this.#step()
    if (process.roots === undefined) await this.#askRoots(process)
    const { roots, sessionKey } = process
    if (roots !== undefined && sessionKey !== undefined && !person.hadRoots.has(roots))
      this.faults.push(`${call} ran with the roots ${roots}`)
    const others = [...process.answeredBy].filter((client) => client !== identityOf(person, line))
    if (this.#isKnownToAsk && others.length > 0) this.faults.push(`${call} ran after answers of ${others}`)
    await this.#step()
    if (!asks || !process.isAlive) return
    const question = { server: SERVER, sessionKey, method: 'elicitation/create', params: { call } }
    const signal = new AbortController().signal
    const answer = await this.traffic.ask({ ...question, signal }).catch(() => undefined)
    if (answer) process.answeredBy.add(String(answer.by))
  }

  async #askRoots(process: ServerProcess): Promise<void> {
    const { sessionKey } = process
    const signal = new AbortController().signal
    const answer = await this.traffic
      .ask({ server: SERVER, sessionKey, method: 'roots/list', signal })
      .catch(() => undefined)
    if (answer) process.roots ??= JSON.stringify(answer.roots)
  }

  #lineOf(person: Person, call: string, signal: AbortSignal): ClientLine {
    const { era, name, token, capabilities } = person
    const line: ClientLine = {
      clientInfo: undefined,
      era,
      owner: era === 'legacy' ? name : call,
      client: era === 'legacy' ? name : JSON.stringify([token, capabilities]),
      principal: token,
      capabilities,
      signal,
      wantsProgress: false,
      logLevel: undefined,
      progress: () => {},
      log: () => {},
      flushed: async () => {},
      ask: async (method, params) => {
        await this.#step()
        signal.throwIfAborted()
        if (!canAnswer(capabilities, method)) throw new Error('the client cannot answer that')
        if (method === 'roots/list') return { roots: JSON.parse(person.roots) }
        const asked = String(params?.call)
        const isRight = era === 'modern' ? asked === call : asked.endsWith(` of ${name}`)
        if (!isRight) this.faults.push(`the question of ${asked} reached ${call}`)
        return { by: identityOf(person, line) }
      },
    }
    return line
  }
}

interface WorldOptions {
  readonly isKnownToAsk?: boolean
  readonly limits?: Partial<typeof LIMITS>
  /** When the next timer fires. Default: never. */
  readonly timer?: () => Promise<void>
}

function newProcess(sessionKey: string | undefined): ServerProcess {
  return { sessionKey, isAlive: true, roots: undefined, answeredBy: new Set() }
}

/** Who counts as one client: a session, or modern requests that say the same and have the same roots. */
function identityOf({ era, capabilities, roots }: Person, { client, owner }: ClientLine): string {
  return era === 'legacy' ? owner : `${client} ${capabilities.roots ? roots : ''}`
}

const ALL = { roots: { listChanged: true }, elicitation: {} }
const CAPABILITIES: readonly Json[] = [
  ALL,
  { roots: {}, elicitation: {} },
  { elicitation: {} },
  { roots: {} },
  {},
]

function newPerson(name: string, era: Person['era'], given: Partial<Person> = {}): Person {
  const roots = given.roots ?? '["/all"]'
  return { name, era, token: 'ada', capabilities: ALL, ...given, roots, hadRoots: new Set([roots]) }
}

/** Steps that happen at once, in their order. */
const atOnce = () => new Promise<void>((resolve) => setImmediate(resolve))
const PLAIN = { asks: false, isCancelled: false }
const ASKING = { asks: true, isCancelled: false }

/** Steps that happen when the test says so. */
function stepper() {
  const waiting: (() => void)[] = []
  return { step: () => new Promise<void>((resolve) => waiting.push(resolve)), waiting }
}

describe('a server that asks', () => {
  it('for roots alone has one process for all clients of a token with equal roots, and others for other roots', async () => {
    const world = new World(atOnce)
    await world.call(newPerson('warm up', 'legacy'), PLAIN)
    const people = ['one', 'two', 'three', 'four'].flatMap((name) => [
      newPerson(`legacy ${name}`, 'legacy'),
      newPerson(`modern ${name}`, 'modern'),
    ])
    await Promise.all(people.flatMap((person) => [world.call(person, PLAIN), world.call(person, PLAIN)]))
    expect(world.opened).toBe(1)
    await world.call(newPerson('elsewhere', 'modern', { roots: '["/other"]' }), PLAIN)
    await world.call(newPerson('somebody', 'modern', { token: 'bob' }), PLAIN)
    expect(world.opened).toBe(3)
    expect(world.faults).toEqual([])
  })

  it('has one process for the calls of a modern client, one after another or at once', async () => {
    const world = new World(atOnce, { isKnownToAsk: true })
    const person = newPerson('modern', 'modern')
    // The first process was told roots before it was known that this server asks for them, so it is not used again.
    await world.call(person, ASKING)
    for (let round = 0; round < 3; round++) await world.call(person, ASKING)
    await Promise.all(Array.from({ length: 10 }, () => world.call(person, PLAIN)))
    expect(world.opened).toBe(2)
    expect(world.faults).toEqual([])
  })

  it('has another process for calls of a client that would wait for its own answer, but only a few', async () => {
    const { step, waiting } = stepper()
    const world = new World(step, { isKnownToAsk: true })
    const person = newPerson('modern', 'modern', { capabilities: { elicitation: {} } })
    const calls = Array.from({ length: 9 }, () => world.call(person, ASKING))
    // Every call that has a process asks; nobody answers yet.
    for (let round = 0; round < 30; round++) {
      await atOnce()
      const steps = waiting.splice(0)
      if (world.opened < 4) for (const go of steps) go()
      else waiting.push(...steps)
    }
    expect(world.opened).toBe(4)
    while (waiting.length > 0) {
      for (const go of waiting.splice(0)) go()
      await atOnce()
    }
    expect(await Promise.all(calls)).toEqual(calls.map(() => 'answered'))
    expect(world.opened).toBe(4)
    expect(world.faults).toEqual([])
  })

  it('about a call that was cancelled, over a connection that others share, asks none of them', async () => {
    const { step, waiting } = stepper()
    const world = new World(step)
    const [ada, bob] = [newPerson('ada', 'legacy'), newPerson('bob', 'legacy')]
    const calls = [world.call(ada, { asks: true, isCancelled: true }), world.call(bob, PLAIN)]
    for (let round = 0; round < 9; round++) {
      await atOnce()
      waiting.shift()?.()
    }
    while (waiting.length > 0) {
      waiting.shift()?.()
      await atOnce()
    }
    expect(await Promise.all(calls)).toEqual(['refused', 'answered'])
    expect(world.faults).toEqual([])
  })

  it('never gets an answer from, nor shows roots and answers to, another client, whatever the order', async () => {
    const person = fc.record({
      era: fc.constantFrom('legacy', 'modern'),
      token: fc.constantFrom('ada', 'bob'),
      capabilities: fc.constantFrom(...CAPABILITIES),
      roots: fc.constantFrom('["/all"]', '["/a"]', '[]'),
    })
    const action = fc.record({
      who: fc.nat(),
      kind: fc.constantFrom('call', 'call', 'call', 'call', 'roots', 'end'),
      asks: fc.boolean(),
      isCancelled: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
    })
    const options = fc.record({
      isKnownToAsk: fc.boolean(),
      limits: fc.record({
        maxConnectionsPerServer: fc.integer({ min: 0, max: 4 }),
        maxQueuedPerServer: fc.integer({ min: 0, max: 4 }),
        maxCallsPerServer: fc.integer({ min: 0, max: 3 }),
      }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(person, { minLength: 2, maxLength: 5 }),
        fc.array(action, { minLength: 4, maxLength: 20 }),
        options,
        async (scheduler, given, actions, worldOptions) => {
          const step = () => scheduler.schedule(Promise.resolve())
          const world = new World(step, { ...worldOptions, timer: step })
          const people = given.map((each, at) => newPerson(`person ${at}`, each.era, each))
          const calls = actions.map(async ({ who, kind, ...behaviour }) => {
            const one = people[who % people.length]
            await step()
            if (!one) return
            if (kind === 'call') return world.call(one, behaviour)
            if (one.era === 'modern') return
            if (kind === 'end') return world.traffic.sessionEnded(one.name)
            one.roots = '["/new"]'
            one.hadRoots.add(one.roots)
            world.traffic.rootsChanged({ owner: one.name })
          })
          await scheduler.waitFor(Promise.all(calls))
          // Whatever belongs to no session stops.
          for (const { era, name } of people) if (era === 'legacy') await world.traffic.sessionEnded(name)
          await scheduler.waitIdle()
          const { maxConnectionsPerServer: max } = worldOptions.limits
          expect(world.faults).toEqual([])
          expect(world.alive).toBe(0)
          if (max > 0) expect(world.most).toBeLessThanOrEqual(max)
        },
      ),
      { numRuns: 300 },
    )
  })
})
