import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayProcess, TOKEN } from './gateway-process.ts'

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
  /** The first of each kind, and how many there were. */
  readonly faults: readonly string[]
  readonly seconds: number
}

const ECHO_SERVER = join(import.meta.dirname, 'echo-server.mjs')

/** Real gateways on one Redis, with clients whose every request goes to any of them. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { cli, folder, store, sessions, clients } = options
  const notes = join(folder, 'notes')
  writeFileSync(notes, '')
  const echo = { command: process.execPath, args: [ECHO_SERVER, notes] }
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { echo } }))
  const replicas = Array.from({ length: options.replicas }, () => new GatewayProcess({ cli, folder, store }))
  const load = new Load(replicas, options)
  try {
    await Promise.all(replicas.map((replica) => replica.start()))
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
    return load.report(readFileSync(notes, 'utf8'), (Date.now() - begun) / 1_000)
  } finally {
    // Clients whose replicas could not be restarted would wait for them for ever.
    load.stop()
    await Promise.allSettled(replicas.map((replica) => replica.kill()))
  }
}

interface Reply {
  readonly status: number
  readonly message: {
    readonly result?: { readonly content?: { readonly text?: string }[] }
    readonly error?: unknown
  }
  readonly session: string | undefined
}

class Load {
  readonly #replicas: readonly GatewayProcess[]
  readonly #callsPerSession: number
  readonly #expected = new Map<string, 'answered' | 'cut' | 'lost'>()
  readonly #faults = new Map<string, { readonly first: string; count: number }>()
  readonly #stopping = new AbortController()
  #misrouted = 0
  #forgotten = 0

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

  /** Sends a message to any replica; to another one when it was not taken. */
  async #post(message: object, session?: string): Promise<Reply | 'cut' | 'lost'> {
    for (let tries = 0; ; tries++) {
      this.#stopping.signal.throwIfAborted()
      if (tries > 0) await pause(RETRY_MS)
      if (tries > MAX_TRIES) throw new Error('no gateway takes requests')
      const running = this.#replicas.filter(({ isRunning }) => isRunning)
      const replica = running[Math.floor(Math.random() * running.length)]
      if (!replica) continue
      const { url, kills } = replica
      const abort = new AbortController()
      // Not AbortSignal.timeout(): a response that is being read can outlive its effect.
      const timer = setTimeout(
        () => abort.abort(new Error(`no answer of ${url} to ${JSON.stringify(message)}`)),
        PATIENCE_MS,
      )
      try {
        const answering = fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${TOKEN}`,
            ...(session === undefined ? {} : { 'mcp-session-id': session }),
          },
          body: JSON.stringify({ jsonrpc: '2.0', ...message }),
          signal: abort.signal,
        })
        const response = await Promise.race([answering, aborted(abort.signal)])
        const text = await Promise.race([response.text(), aborted(abort.signal)])
        if (response.status === 503) continue
        const data = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
        const opened = response.headers.get('mcp-session-id') ?? undefined
        return { status: response.status, message: JSON.parse(data), session: opened }
      } catch (error) {
        if (isRefused(error)) continue
        // What was under way at a replica that was killed has no answer; anything else is a fault.
        if (replica.kills > kills) return 'cut'
        // An opening that got no answer is tried again; a call is not.
        if (session !== undefined) this.#fault(String((error as Error).cause ?? error))
        return 'lost'
      } finally {
        clearTimeout(timer)
      }
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** How long a client waits before it asks again, where nobody can answer now. */
const RETRY_MS = 100
/** So long that every gateway would have been restarted meanwhile. */
const MAX_TRIES = 1_200
/** A request that has no answer by then is lost. */
const PATIENCE_MS = 30_000

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
