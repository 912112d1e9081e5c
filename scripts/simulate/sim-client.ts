import type { SimReplica } from './sim-replica.ts'
import { TOKENS } from './sim-replica.ts'
import { Violation, type World } from './world.ts'

type Json = Record<string, unknown>

/** How a request ended: with one response, without one because its replica died, or never sent at all. */
export type Outcome =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly message: Json
      readonly headers: Headers
      readonly replica: SimReplica
      readonly isCalm: boolean
    }
  | { readonly kind: 'cut' }

interface Sent {
  readonly body: Json
  readonly headers: Record<string, string>
  readonly onRequest?: (message: Json) => void
  /** Whether the client takes the request back: then it may get no answer. */
  readonly isCancelled?: boolean
}

/** The way from clients to replicas: any of them, each time. */
export class Network {
  replicas: SimReplica[] = []
  /** The only replica that takes requests, if set. */
  only: SimReplica | undefined
  /** How likely the answer to a question arrives twice, as after a proxy's retry. */
  duplicates = 0
  /** Requests that were sent and have not ended. */
  underWay = 0
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Sends a request to some replica that takes requests, and reads what comes back. */
  async post(who: 'ada' | 'bob', path: string, sent: Sent): Promise<Outcome> {
    const world = this.#world
    this.underWay++
    try {
      for (;;) {
        const alive = (this.only ? [this.only] : this.replicas).filter(
          ({ isAlive, isDraining }) => isAlive && !isDraining,
        )
        await world.sleep(alive.length === 0 ? 200 : world.delay())
        if (alive.length === 0) continue
        const replica = world.pick(alive)
        // Refused: nothing was sent, and another one is tried.
        if (!replica.isAlive) continue
        const outcome = await this.#exchange(replica, who, path, sent)
        if (outcome.kind === 'answered' && outcome.status === 503) continue
        return outcome
      }
    } finally {
      this.underWay--
    }
  }

  async #exchange(replica: SimReplica, who: 'ada' | 'bob', path: string, sent: Sent): Promise<Outcome> {
    const world = this.#world
    const begun = world.now
    const wasOk = replica.store.health().state === 'ok'
    const request = new Request(`http://localhost${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${TOKENS[who]}`,
        ...sent.headers,
      },
      body: JSON.stringify(sent.body),
    })
    const died = replica.died.then(() => undefined)
    const response = await Promise.race([replica.gateway.fetch(request), died])
    if (!response) return { kind: 'cut' }
    const messages: Json[] = []
    const isStream = response.headers.get('content-type')?.includes('event-stream') === true
    const reader = response.body?.getReader()
    let text = ''
    for (;;) {
      const chunk = reader
        ? await Promise.race([reader.read(), died])
        : { done: true as const, value: undefined }
      if (!chunk) return { kind: 'cut' }
      if (chunk.done) break
      await world.sleep(world.delay())
      if (!replica.isAlive) return { kind: 'cut' }
      text += new TextDecoder().decode(chunk.value)
      if (!isStream) continue
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1]
        if (data === undefined) continue
        const message = JSON.parse(data) as Json
        if (message.method !== undefined && message.id !== undefined) sent.onRequest?.(message)
        else if (message.method === undefined) messages.push(message)
      }
    }
    if (!isStream && text !== '') messages.push(JSON.parse(text))
    const isRequest = sent.body.method !== undefined && sent.body.id !== undefined
    const isUnanswered = messages.length === 0 && sent.isCancelled === true
    if (isRequest && messages.length !== 1 && !isUnanswered)
      throw new Violation(`${messages.length} answers to one request of ${who}: ${JSON.stringify(sent.body)}`)
    const [message = {}] = messages
    if (isRequest && !isUnanswered && message.id !== sent.body.id && message.id !== null)
      throw new Violation(`an answer to ${String(message.id)} came to ${String(sent.body.id)}`)
    // Whether the store did its part while this was answered.
    const isOk = wasOk && replica.store.health().state === 'ok'
    const isCalm = isOk && replica.lastTrouble < begun && world.now - begun < 1_500
    return { kind: 'answered', status: response.status, message, headers: response.headers, replica, isCalm }
  }
}

/** The text of a tool's result; undefined for an error of the protocol. */
export function textOf({ result }: Json): string | undefined {
  const content = (result as { content?: { text?: string }[] } | undefined)?.content
  return content?.[0]?.text
}

/** What came of a request, in a line. */
export function summary(outcome: Outcome): string {
  if (outcome.kind === 'cut') return 'its replica died'
  const { error, result } = outcome.message as { error?: { message?: string }; result?: object }
  const text = error
    ? `error ${error.message}`
    : (textOf(outcome.message) ?? Object.keys(result ?? {}).join(' '))
  return `${outcome.replica.name} ${outcome.status} ${text.slice(0, 100)}`
}

/** Whether nothing has happened, and the same request may be sent again. */
function isToldToRetry(outcome: Outcome): boolean {
  if (outcome.kind === 'cut') return false
  const { error } = outcome.message as { error?: { data?: { retryAfterMs?: number } } }
  return error?.data?.retryAfterMs !== undefined
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'sim', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
}

/** A client of either era. */
export class SimClient {
  readonly who: 'ada' | 'bob'
  readonly era: 'legacy' | 'modern'
  readonly label: string
  session: string | undefined
  readonly #world: World
  readonly #network: Network
  readonly #path: string
  readonly #own = new Set<string>()
  #ids = 0

  constructor(
    world: World,
    network: Network,
    settings: { readonly label: string; readonly who: 'ada' | 'bob'; readonly era: 'legacy' | 'modern' },
  ) {
    this.#world = world
    this.#network = network
    this.label = settings.label
    this.who = settings.who
    this.era = settings.era
    this.#path = settings.era === 'legacy' ? '/mcp?activate=list' : '/mcp'
  }

  /** Opens a session, for a client of the older era. */
  async connect(): Promise<Outcome> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: { sampling: {} },
      clientInfo: { name: this.label, version: '1' },
    }
    const body = { jsonrpc: '2.0', id: `${this.label}-${++this.#ids}`, method: 'initialize', params }
    const outcome = await this.#network.post(this.who, this.#path, { body, headers: {} })
    if (outcome.kind === 'answered') this.session = outcome.headers.get('mcp-session-id') ?? undefined
    return outcome
  }

  /** Sends a call of the older era, and takes it back after a while, at any replica. */
  async cancel(params: Json): Promise<{ readonly outcome: Outcome; readonly cancelledAt: number }> {
    const headers = { 'mcp-session-id': this.session ?? '', 'mcp-protocol-version': '2025-11-25' }
    const requestId = `${this.label}-${++this.#ids}`
    const body = { jsonrpc: '2.0', id: requestId, method: 'tools/call', params }
    const calling = this.#network.post(this.who, this.#path, { body, headers, isCancelled: true })
    // Later than a message takes at most: nobody knows a call yet that is overtaken by its end.
    await this.#world.sleep(1_000 + this.#world.random() * 3_000)
    const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
    await this.#network.post(this.who, this.#path, { body: notice, headers })
    const cancelledAt = this.#world.now
    return { outcome: await calling, cancelledAt }
  }

  /** Sends a request, and answers what it is asked meanwhile. */
  request(method: string, params: Json, nonce?: string): Promise<Outcome> {
    if (nonce !== undefined) this.#own.add(nonce)
    return this.era === 'legacy' ? this.#legacy(method, params) : this.#modern(method, params)
  }

  #legacy(method: string, params: Json): Promise<Outcome> {
    const headers = { 'mcp-session-id': this.session ?? '', 'mcp-protocol-version': '2025-11-25' }
    const body = { jsonrpc: '2.0', id: `${this.label}-${++this.#ids}`, method, params }
    const onRequest = ({ id, params: asked }: Json) => {
      const answer = { jsonrpc: '2.0', id, result: this.#answer(asked) }
      const times = this.#world.chance(this.#network.duplicates) ? 2 : 1
      for (let time = 0; time < times; time++)
        void this.#network.post(this.who, this.#path, { body: answer, headers })
    }
    return this.#network.post(this.who, this.#path, { body, headers, onRequest })
  }

  async #modern(method: string, params: Json): Promise<Outcome> {
    let more: Json = {}
    for (;;) {
      const id = `${this.label}-${++this.#ids}`
      const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {}
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name }
      const body = { jsonrpc: '2.0', id, method, params: { ...params, ...more, _meta: META } }
      const outcome = await this.#network.post(this.who, this.#path, { body, headers })
      if (isToldToRetry(outcome)) {
        await this.#world.sleep(1_000)
        continue
      }
      const result = outcome.kind === 'answered' ? (outcome.message.result as Json | undefined) : undefined
      if (result?.resultType !== 'input_required') return outcome
      const asked = Object.entries((result.inputRequests ?? {}) as Record<string, { params?: unknown }>)
      const inputResponses = Object.fromEntries(asked.map(([key, { params }]) => [key, this.#answer(params)]))
      more = { inputResponses, requestState: result.requestState }
    }
  }

  #answer(asked: unknown): Json {
    const { messages } = asked as { messages?: { content?: { text?: string } }[] }
    // The gateway writes the name of the server in front.
    const nonce = messages?.[0]?.content?.text?.replace(/^\[sim\] /, '') ?? ''
    if (!this.#own.has(nonce))
      throw new Violation(`${this.label} was asked about ${nonce}, which is of another client`)
    this.#world.note(`${this.label} answers about ${nonce}`)
    return { model: 'm', role: 'assistant', content: { type: 'text', text: `${this.label} says ${nonce}` } }
  }
}
