import { Connection } from '../../src/mcp/connection/connection.ts'
import { handOn, MessageGuard } from '../../src/mcp/connection/message-guard.ts'
import type { OpenConnection } from '../../src/mcp/connection/open-connection.ts'
import type { GuardedTransport, SendOptions } from '../../src/mcp/connection/requests.ts'
import type { World } from './world.ts'

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

/** What the servers of all replicas did: which call ran, how often. */
export class Deeds {
  readonly runs = new Map<string, number>()
  secrets = 0

  ran(tool: string, nonce: string): void {
    if (tool === 'secret') this.secrets++
    this.runs.set(nonce, (this.runs.get(nonce) ?? 0) + 1)
  }
}

/** Opens connections to a simulated server of the older era, one process for each. */
export function openSimServer(
  world: World,
  deeds: Deeds,
  host: { readonly isAlive: boolean; readonly breaks: number },
): OpenConnection {
  return async ({ server, sessionKey, client, signal, onWarning }) => {
    await world.sleep(world.delay())
    signal.throwIfAborted()
    if (world.chance(host.breaks)) throw new Error('it did not start')
    const transport = new SimTransport(world, deeds, host)
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

const TOOLS = [
  { name: 'echo', description: 'Repeats a nonce.', annotations: { readOnlyHint: true } },
  { name: 'secret', description: 'Must never run.' },
  { name: 'ask', description: 'Asks the client, and repeats the answer.' },
  { name: 'slow', description: 'Takes its time.' },
  ...TOPICS.map((topic) => ({ name: `find_${topic}`, description: `Finds a ${topic}.` })),
].map((tool) => ({
  ...tool,
  inputSchema: { type: 'object', properties: { nonce: { type: 'string' } } },
}))

/** A server's process, at the other end of a pipe that takes its time. */
class SimTransport implements GuardedTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: Message) => void
  intercept?: (message: Message) => boolean
  readonly guard = new MessageGuard()
  readonly #world: World
  readonly #deeds: Deeds
  readonly #host: { readonly isAlive: boolean; readonly breaks: number }
  readonly #asked = new Map<string, (answer: unknown) => void>()
  #isOpen = true
  #questions = 0
  #arrival = 0
  #return = 0

  constructor(world: World, deeds: Deeds, host: { readonly isAlive: boolean; readonly breaks: number }) {
    this.#world = world
    this.#deeds = deeds
    this.#host = host
  }

  async start(): Promise<void> {}

  async send(sent: Message, options?: SendOptions): Promise<void> {
    this.guard.sent(sent, options)
    if (!this.#host.isAlive) return
    this.#arrival = Math.max(this.#arrival, this.#world.now + this.#world.delay())
    this.#world.schedule(this.#arrival - this.#world.now, () => {
      if (this.#isOpen && this.#host.isAlive) void this.#take(sent as unknown as Received)
    })
  }

  async close(): Promise<void> {
    this.#isOpen = false
    const { onclose } = this
    delete this.onclose
    onclose?.()
  }

  async #take({ id, method, params, result, error }: Received): Promise<void> {
    if (method === undefined && id !== undefined) {
      this.#asked.get(String(id))?.(result ?? error)
      return
    }
    if (id === undefined) return
    if (this.#world.chance(this.#host.breaks / 2)) return void this.close()
    if (method === 'tools/call') return this.#reply(id, await this.#call(params ?? {}))
    if (method === 'tools/list') return this.#reply(id, { tools: TOOLS })
    if (method !== 'initialize') return this.#reply(id, {})
    this.#reply(id, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'sim', version: '1' },
    })
  }

  async #call({
    name,
    arguments: given,
  }: {
    name?: string
    arguments?: { nonce?: string }
  }): Promise<object> {
    const nonce = given?.nonce ?? ''
    this.#deeds.ran(name ?? '', nonce)
    if (name === 'slow') await this.#world.sleep(this.#world.random() * 20_000)
    if (name !== 'ask') return { content: [{ type: 'text', text: `ran ${nonce}` }] }
    const key = `question-${++this.#questions}-${nonce}`
    const answer = await new Promise((resolve) => {
      this.#asked.set(key, resolve)
      this.#deliver({
        jsonrpc: '2.0',
        id: key,
        method: 'sampling/createMessage',
        params: { maxTokens: 9, messages: [{ role: 'user', content: { type: 'text', text: nonce } }] },
      })
    })
    return { content: [{ type: 'text', text: `ran ${nonce} ${JSON.stringify(answer)}` }] }
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

interface Received {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { name?: string; arguments?: { nonce?: string } }
  readonly result?: unknown
  readonly error?: unknown
}
