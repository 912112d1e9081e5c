import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import type { JsonValue, Schedule, Store } from '@toolcrib/core'
import { memoryStore, ToolRegistry } from '@toolcrib/core'
import type { ConnectOptions, McpEvent } from '../connect-options.ts'
import { connectServers } from '../connect-servers.ts'
import type { OpenConnection } from '../connection/connect.ts'
import { Connection } from '../connection/connection.ts'
import { MessageGuard } from '../connection/message-guard.ts'
import { type GuardedTransport, handOn, type SendOptions } from '../connection/requests.ts'
import type { Lockfile } from '../lock/lockfile.ts'

export interface WorldOptions {
  readonly isRemembered?: boolean
  readonly failures?: number
  readonly failure?: string
  readonly config?: object
  readonly lockfile?: Lockfile
  readonly tools?: readonly object[]
}

/** Returns a registry connected to one server, `a`, once it has settled. */
export async function begin(options: WorldOptions) {
  const world = new World(options)
  const registry = new ToolRegistry()
  const servers = connectServers(
    registry,
    { servers: { a: { command: 'x', ...options.config } } },
    world.options,
  )
  await servers.ready()
  return { world, registry, servers }
}

/** Calls the tool `echo`. */
export async function call(registry: ToolRegistry) {
  const [answer] = await registry.executeParallel([{ toolCallId: '1', name: 'mcp__a__echo', args: {} }], {
    sessionId: 's',
  })
  return answer?.result
}

const TOOLS = ['echo', 'add'].map((name) => ({ name, description: '', inputSchema: { type: 'object' } }))

const INFO = {
  era: 'legacy',
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'fake', version: '1' },
} as const

/** A world with its own clock and scripted servers. */
export class World {
  opened = 0
  isDeaf = false
  isHanging = false
  wasGivenUp = false
  /** Opening a connection waits for this. */
  opening: Promise<void> | undefined
  /** Methods that never get a response. */
  readonly unanswered = new Set<string>()
  calls = 0
  callError: string | undefined
  tools: unknown
  /** What private connections list; as `tools` when undefined. */
  privateTools: unknown
  /** What was requested over which connection: the session's key, or `shared`. */
  readonly requested: string[] = []
  /** Lists to return before `tools`, each once. */
  readonly listsBefore: unknown[] = []
  result: object = { content: [{ type: 'text', text: 'done' }] }
  readonly warnings: string[] = []
  readonly events: McpEvent[] = []
  readonly options: ConnectOptions
  readonly #timers = new Set<{ at: number; fire: () => void }>()
  #now = 1_000
  #failure: string
  #failures: number
  #transport: FakeTransport | undefined
  readonly #transports = new Map<string, FakeTransport>()

  constructor({
    isRemembered,
    failures = 0,
    failure = 'no such thing',
    lockfile,
    tools = TOOLS,
  }: WorldOptions) {
    this.tools = tools
    this.#failure = failure
    this.#failures = failures
    this.options = {
      open: this.#open,
      schedule: this.schedule,
      clock: () => this.#now,
      random: () => 1,
      onEvent: (event) => {
        this.events.push(event)
        if (event.type === 'server-warning') this.warnings.push(event.warning)
      },
      ...(lockfile ? { lockfile } : {}),
      ...(isRemembered ? { store: storeOf({ version: 2, tools: TOOLS, info: INFO }) } : {}),
    }
  }

  /** Advances the clock and runs whatever is due. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await this.settle()
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.fire()
    }
    this.#now = end
    await this.settle()
  }

  /** Holds back responses to a method until `goOn()` is called. */
  holdBack(method: string): { goOn(): void } {
    this.unanswered.add(method)
    return {
      goOn: () => {
        this.unanswered.delete(method)
        this.#transport?.answerHeldBack(method)
      },
    }
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Ends the server's process: the one opened last, or that of a session. */
  die(reason: string, sessionKey?: string): void {
    const transport = sessionKey === undefined ? this.#transport : this.#transports.get(sessionKey)
    if (!transport) return
    transport.closedBecause = reason
    void transport.close()
  }

  /** Makes every further connection attempt fail. */
  fail(failure: string): void {
    this.#failure = failure
    this.#failures = Number.POSITIVE_INFINITY
  }

  /** Sends a notification over the connection opened last, or over that of a session. */
  notify(method: string, sessionKey?: string): void {
    const transport = sessionKey === undefined ? this.#transport : this.#transports.get(sessionKey)
    if (transport) handOn({ jsonrpc: '2.0', method }, transport)
  }

  readonly schedule: Schedule = (delayMs, fire) => {
    const timer = { at: this.#now + delayMs, fire }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  readonly #open: OpenConnection = async ({ server, sessionKey, client, signal, onWarning }) => {
    this.opened++
    if (this.isHanging) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      this.wasGivenUp = true
    }
    await this.opening
    signal.throwIfAborted()
    if (this.#failures-- > 0) throw new Error(this.#failure)
    const transport = new FakeTransport((method) => {
      this.requested.push(`${sessionKey ?? 'shared'} ${method}`)
      return this.#answer(method, sessionKey)
    })
    this.#transport = transport
    if (sessionKey !== undefined) this.#transports.set(sessionKey, transport)
    return Connection.open(transport, {
      server,
      sessionKey,
      client,
      greeting: { kind: 'legacy' },
      timeoutMs: 5_000,
      now: () => this.#now,
      schedule: this.schedule,
      onWarning,
    })
  }

  /** True while there is a connection to the server. */
  get isConnected(): boolean {
    return this.#transport?.isOpen === true
  }

  #answer(method: string, sessionKey: string | undefined): object | undefined {
    if (this.unanswered.has(method)) return undefined
    if (this.isDeaf) throw new Error('it is deaf')
    const tools = sessionKey === undefined ? this.tools : (this.privateTools ?? this.tools)
    if (method === 'tools/list') return { tools: this.listsBefore.shift() ?? tools }
    if (method === 'tools/call') {
      this.calls++
      if (this.callError !== undefined) throw new Error(this.callError)
      return this.result
    }
    if (method !== 'initialize') return {}
    const { era: _, ...greeting } = INFO
    return greeting
  }
}

/** A store that remembers this catalogue for every server, and nothing else. */
function storeOf(catalogue: JsonValue): Store {
  const store = memoryStore()
  return storeWith(store, {
    get: async (key) => (key.startsWith('catalogue:') ? catalogue : store.get(key)),
  })
}

/** The same store, with some of its methods replaced. */
export function storeWith(store: Store, replaced: Partial<Store>): Store {
  return {
    get: (key) => store.get(key),
    set: (key, value, options) => store.set(key, value, options),
    update: (key, change, options) => store.update(key, change, options),
    delete: (key) => store.delete(key),
    close: () => store.close(),
    ...replaced,
  }
}

class FakeTransport implements GuardedTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  intercept?: (message: JSONRPCMessage) => boolean
  readonly guard = new MessageGuard()
  isOpen = true
  closedBecause: string | undefined
  readonly #heldBack = new Map<string, string | number>()
  readonly #answer: (method: string) => object | undefined

  constructor(answer: (method: string) => object | undefined) {
    this.#answer = answer
  }

  async start(): Promise<void> {}

  async send(sent: JSONRPCMessage, options?: SendOptions): Promise<void> {
    this.guard.sent(sent, options)
    if (!('method' in sent) || !('id' in sent)) return
    const result = this.#answer(sent.method)
    if (result === undefined) this.#heldBack.set(sent.method, sent.id)
    else this.#receive(sent.id, result)
  }

  answerHeldBack(method: string): void {
    const id = this.#heldBack.get(method)
    const result = this.#answer(method)
    if (id !== undefined && result) this.#receive(id, result)
  }

  #receive(id: string | number, result: object): void {
    const { message } = this.guard.received({ jsonrpc: '2.0', id, result })
    if (message) queueMicrotask(() => handOn(message, this))
  }

  async close(): Promise<void> {
    this.isOpen = false
    const { onclose } = this
    delete this.onclose
    onclose?.()
  }
}
