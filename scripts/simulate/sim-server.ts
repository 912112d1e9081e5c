import type { OpenConnection } from '../../packages/mcp/src/connection/connect.ts'
import { Connection } from '../../packages/mcp/src/connection/connection.ts'
import { MessageGuard } from '../../packages/mcp/src/connection/message-guard.ts'
import type { GuardedTransport, SendOptions } from '../../packages/mcp/src/connection/requests.ts'
import { handOn } from '../../packages/mcp/src/connection/requests.ts'
import type { SimProcess, World } from './world.ts'

type Message = Parameters<NonNullable<GuardedTransport['onmessage']>>[0]

export const TOPICS = [
  'apple',
  'bread',
  'candle',
  'dragon',
  'engine',
  'forest',
  'garden',
  'harbor',
  'island',
  'jacket',
]

const TOOLS = [
  { name: 'echo', description: 'Repeats a nonce.', annotations: { readOnlyHint: true } },
  { name: 'secret', description: 'Must never run.' },
  { name: 'ask', description: 'Asks the client, and repeats the answer.' },
  { name: 'slow', description: 'Takes its time.' },
  { name: 'guarded', description: 'Runs only if a person allows it.' },
  ...TOPICS.map((topic) => ({ name: `find_${topic}`, description: `Finds a ${topic}.` })),
].map(listed)

/** The processes of one server, at all replicas: the tools they list, and what they did. */
export class SimServers {
  /** How often each call ran. */
  readonly runs = new Map<string, number>()
  /** Calls that were ended because somebody cancelled them. */
  readonly cancelled = new Set<string>()
  secrets = 0
  readonly #tools = [...TOOLS]
  /** The processes that the clients of a replica share. */
  readonly #shared = new Map<SimProcess, SimTransport>()

  get tools(): readonly object[] {
    return this.#tools
  }

  ran(tool: string, nonce: string): void {
    if (tool === 'secret') this.secrets++
    this.runs.set(nonce, (this.runs.get(nonce) ?? 0) + 1)
  }

  started(host: SimProcess, transport: SimTransport): void {
    this.#shared.set(host, transport)
  }

  ended(host: SimProcess, transport: SimTransport): void {
    if (this.#shared.get(host) === transport) this.#shared.delete(host)
  }

  /** All processes list one more tool; only the shared one of a replica says so. Returns whether there is one. */
  addTool(name: string, host: SimProcess): boolean {
    this.#tools.push(listed({ name, description: 'Something else.' }))
    const shared = this.#shared.get(host)
    shared?.announceList()
    return shared !== undefined
  }
}

function listed(tool: { readonly name: string; readonly description: string }) {
  return { ...tool, inputSchema: { type: 'object', properties: { nonce: { type: 'string' } } } }
}

/** Opens connections to a simulated server of the older era, one process for each. */
export function openSimServer(world: World, servers: SimServers, host: SimProcess): OpenConnection {
  return async ({ server, sessionKey, client, signal, onWarning }) => {
    await world.sleep(world.delay())
    signal.throwIfAborted()
    if (world.chance(host.breaks)) throw new Error('it did not start')
    const transport = new SimTransport(world, servers, host)
    if (sessionKey === undefined) servers.started(host, transport)
    return Connection.open(transport, {
      server,
      sessionKey,
      client,
      greeting: { kind: 'legacy' },
      timeoutMs: 5_000,
      now: () => world.now,
      schedule: (delayMs, fire) => world.schedule(delayMs, fire),
      onWarning,
    })
  }
}

/** A server's process, at the other end of a pipe that takes its time. */
class SimTransport implements GuardedTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: Message) => void
  intercept?: (message: Message) => boolean
  readonly guard = new MessageGuard()
  readonly #world: World
  readonly #servers: SimServers
  readonly #host: SimProcess
  readonly #asked = new Map<string, (answer: unknown) => void>()
  readonly #cancels = new Map<string | number, () => void>()
  #isOpen = true
  #questions = 0
  #arrival = 0
  #return = 0

  constructor(world: World, servers: SimServers, host: SimProcess) {
    this.#world = world
    this.#servers = servers
    this.#host = host
  }

  async start(): Promise<void> {}

  announceList(): void {
    this.#deliver({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  }

  async send(sent: Message, options?: SendOptions): Promise<void> {
    this.guard.sent(sent, options)
    this.#host.act()
    if (!this.#host.isAlive) return
    this.#arrival = Math.max(this.#arrival, this.#world.now + this.#world.delay())
    this.#world.schedule(this.#arrival - this.#world.now, () => {
      if (this.#isOpen && this.#host.isAlive) void this.#take(sent as unknown as Received)
    })
  }

  async close(): Promise<void> {
    this.#isOpen = false
    this.#servers.ended(this.#host, this)
    const { onclose } = this
    delete this.onclose
    onclose?.()
  }

  async #take({ id, method, params, result, error }: Received): Promise<void> {
    if (method === undefined && id !== undefined) {
      this.#asked.get(String(id))?.(result ?? error)
      return
    }
    if (method === 'notifications/cancelled') this.#cancels.get(params?.requestId ?? '')?.()
    if (id === undefined) return
    if (this.#world.chance(this.#host.breaks / 2)) return void this.close()
    if (method === 'tools/call') return this.#call(id, params ?? {})
    if (method === 'tools/list') return this.#reply(id, { tools: this.#servers.tools })
    if (method !== 'initialize') return this.#reply(id, {})
    this.#reply(id, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'sim', version: '1' },
    })
  }

  async #call(id: string | number, { name, arguments: given }: CallParams): Promise<void> {
    const nonce = given?.nonce ?? ''
    this.#servers.ran(name ?? '', nonce)
    if (name === 'slow' && !(await this.#takeTime(id))) return void this.#servers.cancelled.add(nonce)
    const answer = name === 'ask' ? ` ${JSON.stringify(await this.#ask(nonce))}` : ''
    this.#reply(id, { content: [{ type: 'text', text: `ran ${nonce}${answer}` }] })
  }

  /** Returns false as soon as the call is cancelled. */
  async #takeTime(id: string | number): Promise<boolean> {
    const cancelled = new Promise<boolean>((resolve) => this.#cancels.set(id, () => resolve(false)))
    const done = this.#world.sleep(this.#world.random() * 20_000).then(() => true)
    const isDone = await Promise.race([done, cancelled])
    this.#cancels.delete(id)
    return isDone
  }

  #ask(nonce: string): Promise<unknown> {
    const key = `question-${++this.#questions}-${nonce}`
    const params = { maxTokens: 9, messages: [{ role: 'user', content: { type: 'text', text: nonce } }] }
    return new Promise((resolve) => {
      this.#asked.set(key, resolve)
      this.#deliver({ jsonrpc: '2.0', id: key, method: 'sampling/createMessage', params })
    })
  }

  #reply(id: string | number, result: object): void {
    this.#deliver({ jsonrpc: '2.0', id, result })
  }

  #deliver(message: object): void {
    // Now and then a message arrives twice.
    const times = this.#world.chance(this.#host.breaks * 2) ? 2 : 1
    for (let time = 0; time < times; time++) {
      this.#return = Math.max(this.#return, this.#world.now + this.#world.delay())
      this.#world.schedule(this.#return - this.#world.now, () => {
        if (!this.#isOpen || !this.#host.isAlive) return
        const checked = this.guard.received(JSON.parse(JSON.stringify(message)) as Message)
        if (checked.message) handOn(checked.message, this)
      })
    }
  }
}

interface CallParams {
  readonly name?: string
  readonly arguments?: { readonly nonce?: string }
}

interface Received {
  readonly id?: string | number
  readonly method?: string
  readonly params?: CallParams & { readonly requestId?: string | number }
  readonly result?: unknown
  readonly error?: unknown
}
