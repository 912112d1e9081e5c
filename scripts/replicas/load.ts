import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { GatewayProcess } from './gateway-process.ts'
import { exchange, isRefused, type Reply } from './one-request.ts'
import { type ProxyKind, ProxyProcess } from './proxy-process.ts'

export interface LoadOptions {
  readonly cli: string
  /** An empty folder for the config and the notes of the servers. */
  readonly folder: string
  readonly store: string
  readonly replicas: number
  readonly sessions: number
  readonly callsPerSession: number
  /** How many clients work at once. */
  readonly clients: number
  /** What all requests go through; without it, each goes to any gateway. */
  readonly proxy?: ProxyKind | undefined
  /** More flags of `toolcrib serve`. */
  readonly flags?: readonly string[]
  /** Called again and again while the clients work, to kill and restart replicas. */
  readonly disturb?: (replicas: readonly GatewayProcess[]) => Promise<void>
  /** How often at most. */
  readonly rounds?: number
}

export interface LoadReport {
  readonly calls: number
  readonly answered: number
  /** Without an answer, because their replica was killed. */
  readonly cut: number
  /** Without an answer for any other reason. */
  readonly lost: number
  readonly misrouted: number
  readonly doubled: number
  /** Answered, but no server ran them. */
  readonly invented: number
  /** Sessions that a replica did not know. */
  readonly forgotten: number
  /** Openings of a session that failed; only behind a proxy, where nothing is sent again. */
  readonly unopened: number
  /** Requests that were sent again, to any gateway, because one answered 503. */
  readonly unavailable: number
  /** Requests that were sent again, to any gateway, because one accepted no connection. */
  readonly refused: number
  /** The first of each kind, and how many there were. */
  readonly faults: readonly string[]
  /** The last lines of the proxy, where there were faults. */
  readonly proxyLog?: readonly string[]
  readonly seconds: number
}

const ECHO_SERVER = join(import.meta.dirname, 'echo-server.mjs')

/**
 * Real gateways on one Redis, with clients whose every request goes to any of them, or through a proxy. Behind a proxy no
 * request is sent again: what fails there fails for a client.
 */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { cli, folder, store, sessions, clients, flags = [] } = options
  const notes = join(folder, 'notes')
  writeFileSync(notes, '')
  const echo = { command: process.execPath, args: [ECHO_SERVER, notes] }
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { echo } }))
  const ports = options.proxy === undefined ? [] : await freePorts(options.replicas + 1)
  const replicas = Array.from(
    { length: options.replicas },
    (_, index) => new GatewayProcess({ cli, folder, store, port: ports[index] ?? 0, flags }),
  )
  const load = new Load(replicas, options)
  let proxy: ProxyProcess | undefined
  try {
    await Promise.all(replicas.map((replica) => replica.start()))
    if (options.proxy !== undefined) {
      const gateways = ports.slice(0, -1)
      const settings = { port: ports.at(-1) ?? 0, gateways, folder: join(folder, 'proxy') }
      proxy = await ProxyProcess.start(options.proxy, settings)
      load.proxy = proxy.url
    }
    const begun = Date.now()
    let next = 0
    const work = async () => {
      while (next < sessions) await load.session(next++)
    }
    const working = Promise.all(Array.from({ length: clients }, work))
    let isWorking = true
    const done = () => {
      isWorking = false
    }
    working.then(done, done)
    const { disturb, rounds = Number.POSITIVE_INFINITY } = options
    for (let round = 0; round < rounds && isWorking && disturb; round++) await disturb(replicas)
    await working
    const report = load.report(readFileSync(notes, 'utf8'), (Date.now() - begun) / 1_000)
    const log = proxy && report.faults.length > 0 ? readFileSync(proxy.log, 'utf8').trim().split('\n') : []
    return { ...report, proxyLog: log.slice(-LOG_LINES) }
  } finally {
    // Clients whose replicas could not be restarted would wait for them for ever.
    load.stop()
    await Promise.allSettled([...replicas.map((replica) => replica.kill()), proxy?.stop()])
  }
}

/** Below those that the system gives to connections: nobody takes them while a gateway is being restarted. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const probe = createServer().listen(port, '127.0.0.1')
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    ports.add(port)
    probe.close()
    await once(probe, 'close')
  }
  return [...ports]
}

class Load {
  readonly #replicas: readonly GatewayProcess[]
  readonly #callsPerSession: number
  readonly #expected = new Map<string, 'answered' | 'cut' | 'lost'>()
  readonly #faults = new Map<string, { readonly first: string; count: number }>()
  readonly #stopping = new AbortController()
  /** The address of the proxy that every request goes to. */
  proxy: string | undefined
  #misrouted = 0
  #forgotten = 0
  #unopened = 0
  #unavailable = 0
  #refused = 0

  constructor(replicas: readonly GatewayProcess[], { callsPerSession }: LoadOptions) {
    this.#replicas = replicas
    this.#callsPerSession = callsPerSession
  }

  /** One session of an older client: opened at one replica, used at all of them. */
  async session(number: number): Promise<void> {
    const id = await this.#open()
    for (let call = 0; call < this.#callsPerSession; call++) await this.#call(id, `${number}/${call}`)
  }

  /** Ends every client. */
  stop(): void {
    this.#stopping.abort(new Error('the load was stopped'))
  }

  report(notes: string, seconds: number): LoadReport {
    const runs = new Map<string, number>()
    for (const nonce of notes.split('\n')) if (nonce !== '') runs.set(nonce, (runs.get(nonce) ?? 0) + 1)
    const outcomes = [...this.#expected]
    const count = (outcome: string) => outcomes.filter(([, each]) => each === outcome).length
    return {
      calls: outcomes.length,
      answered: count('answered'),
      cut: count('cut'),
      lost: count('lost'),
      misrouted: this.#misrouted,
      doubled: [...runs.values()].filter((times) => times > 1).length,
      invented: outcomes.filter(([nonce, outcome]) => outcome === 'answered' && !runs.has(nonce)).length,
      forgotten: this.#forgotten,
      unopened: this.#unopened,
      unavailable: this.#unavailable,
      refused: this.#refused,
      faults: [...this.#faults.values()].map(({ first, count }) => `${count} × ${first}`),
      seconds,
    }
  }

  async #open(): Promise<string> {
    const clientInfo = { name: 'load', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    for (;;) {
      const reply = await this.#post({ id: 0, method: 'initialize', params })
      if (reply === 'cut' || reply === 'lost') continue
      if (reply.session !== undefined) return reply.session
      if (this.proxy !== undefined) {
        this.#unopened++
        this.#fault(`initialize: ${reply.status} ${JSON.stringify(reply.message)}`)
        await pause(RETRY_MS)
        continue
      }
      throw new Error(`no session was opened: ${reply.status} ${JSON.stringify(reply.message)}`)
    }
  }

  async #call(session: string, nonce: string): Promise<void> {
    const params = { name: 'echo__echo', arguments: { nonce } }
    const reply = await this.#post({ id: nonce, method: 'tools/call', params }, session)
    if (reply === 'cut' || reply === 'lost') {
      this.#expected.set(nonce, reply)
      return
    }
    const text = reply.message.result?.content?.[0]?.text
    if (reply.status === 404) this.#forgotten++
    if (text !== undefined && text !== nonce && /^\d+\/\d+$/.test(text)) this.#misrouted++
    if (text !== nonce) this.#fault(`${nonce}: ${reply.status} ${JSON.stringify(reply.message)}`)
    this.#expected.set(nonce, text === nonce ? 'answered' : 'lost')
  }

  /** Faults that differ only in their numbers are of one kind. */
  #fault(text: string): void {
    const kind = text.replace(/\d+/g, 'N').replace(/"[0-9a-fN]+-[-0-9a-fN]+"/g, '"ID"')
    const known = this.#faults.get(kind)
    if (known) known.count++
    else if (this.#faults.size < 20) this.#faults.set(kind, { first: text, count: 1 })
  }

  /** Sends a message to the proxy once, or to any replica; to another one when it was not taken. */
  async #post(message: object, session?: string): Promise<Reply | 'cut' | 'lost'> {
    for (let tries = 0; ; tries++) {
      this.#stopping.signal.throwIfAborted()
      if (tries > 0) await pause(RETRY_MS)
      if (tries > MAX_TRIES) throw new Error('no gateway takes requests')
      const running = this.#replicas.filter(({ takesRequests }) => takesRequests)
      const replica = running[Math.floor(Math.random() * running.length)]
      const url = this.proxy ?? replica?.url
      if (url === undefined) continue
      // Which one a proxy chooses is not known.
      const asked = this.proxy === undefined && replica ? [replica] : this.#replicas
      const kills = killsOf(asked)
      const wasDying = asked.some(({ isDying }) => isDying)
      const wasKilled = () => wasDying || killsOf(asked) > kills
      try {
        const reply = await exchange(url, message, session)
        if (this.proxy === undefined && reply.status === 503) {
          this.#unavailable++
          continue
        }
        if (this.proxy !== undefined && reply.status === 502 && wasKilled()) return 'cut'
        return reply
      } catch (error) {
        if (this.proxy === undefined && isRefused(error)) {
          this.#refused++
          continue
        }
        // What was under way at a replica that was killed has no answer; anything else is a fault.
        if (wasKilled()) return 'cut'
        // An opening that got no answer is tried again; a call is not.
        if (session === undefined && this.proxy !== undefined) this.#unopened++
        if (session !== undefined || this.proxy !== undefined)
          this.#fault(String((error as Error).cause ?? error))
        return 'lost'
      }
    }
  }
}

function killsOf(replicas: readonly GatewayProcess[]): number {
  return replicas.reduce((sum, { kills }) => sum + kills, 0)
}

const LOG_LINES = 10
/** How long a client waits before it asks again, where nobody can answer now. */
const RETRY_MS = 100
/** So long that every gateway would have been restarted meanwhile. */
const MAX_TRIES = 1_200

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
