import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isRecord } from '../../json.ts'

type Id = string | number

/** What to do with something a server sent. */
export interface Verdict {
  /** What may be handed on: the message itself, or an error in its place. */
  readonly message?: JSONRPCMessage
  /** What was wrong with it. */
  readonly warning?: string
}

/** JSON nested deeper than this overflows the stack of whoever walks it. No real answer comes near. */
const MAX_DEPTH = 512
const SERVER_FAULT = -32_603
/** How many cancelled requests are remembered, so that their late answers raise no warning. */
const MAX_CANCELLED = 1_000

/**
 * Stands between a server and the protocol code and lets through only what that code can take. Each answer must
 * bear the very id of a request that waits. An answer that is malformed becomes an error of that request, so that its
 * caller hears at once and nobody else hears anything.
 */
export class MessageGuard {
  readonly #waiting = new Map<Id, { readonly isRaw: boolean; readonly isUpkeep: boolean }>()
  readonly #cancelled = new Set<Id>()
  readonly #told = new Set<string>()
  #isRaw = false
  #isUpkeep = false
  #noteUse: () => void = () => {}

  /**
   * Marks what is sent within `send` as wanted raw. The protocol code refuses a whole list for one bad tool, and a
   * whole result for one block it does not know, so it is shown an empty answer; `rawResult()` finds the real one.
   */
  raw<Answer>(send: () => Answer, { isUpkeep = false } = {}): Answer {
    this.#isRaw = true
    this.#isUpkeep = isUpkeep
    try {
      return send()
    } finally {
      this.#isRaw = false
      this.#isUpkeep = false
    }
  }

  /** Hears of every request that somebody makes, and of its answer; not of a connection's own upkeep. */
  onUse(listener: () => void): void {
    this.#noteUse = listener
  }

  /** True while somebody waits for an answer. */
  get isInUse(): boolean {
    return [...this.#waiting.values()].some(({ isUpkeep }) => !isUpkeep)
  }

  /** Notes what goes out. */
  sent(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) {
      // A subscription waits for as long as the connection lasts, used or not.
      const isUpkeep = this.#isUpkeep || message.method === 'subscriptions/listen'
      this.#waiting.set(message.id, { isRaw: this.#isRaw, isUpkeep })
      if (!isUpkeep) this.#noteUse()
    }
    if (message.method === 'notifications/cancelled') this.forget(message.params?.requestId)
  }

  /** Waits no longer for an answer; one that comes late is dropped without a word. */
  forget(id: unknown): void {
    if (!isId(id) || !this.#waiting.delete(id)) return
    this.#cancelled.add(id)
    const [oldest] = this.#cancelled
    if (this.#cancelled.size > MAX_CANCELLED && oldest !== undefined) this.#cancelled.delete(oldest)
  }

  /** Looks at what came in. */
  received(message: unknown): Verdict {
    if (!isRecord(message)) return { warning: 'it sent JSON that is no message' }
    if (typeof message.method === 'string') return this.#called(message)
    if (!('id' in message)) return { warning: 'it sent an object that is no message' }
    return this.#answered(message)
  }

  /** The error that ends a waiting request; nothing when none waits under that id. */
  fail(id: unknown, reason: string): Verdict {
    const waiting = this.#waitingAs(id)
    if (waiting === undefined) return { warning: reason }
    this.#waiting.delete(waiting)
    const error = { code: SERVER_FAULT, message: reason }
    return { message: { jsonrpc: '2.0', id: waiting, error }, warning: reason }
  }

  /** The only request that waits, if there is but one. */
  get onlyWaiting(): Id | undefined {
    const [only] = this.#waiting.keys()
    return this.#waiting.size === 1 ? only : undefined
  }

  isWaiting(id: unknown): boolean {
    return isId(id) && this.#waiting.has(id)
  }

  #called(message: Record<string, unknown>): Verdict {
    const { jsonrpc, id, params } = message
    const isWhole =
      jsonrpc === '2.0' && (id === undefined || isId(id)) && (params === undefined || isRecord(params))
    const fault = isWhole ? shapeFault(message) : 'is malformed'
    if (fault !== undefined) return { warning: `its "${String(message.method).slice(0, 80)}" ${fault}` }
    if (id === undefined && this.#isToldAlready(String(message.method))) return {}
    return { message: message as unknown as JSONRPCMessage }
  }

  /** That a list changed is told once for all that comes in at a time: the news is the same. */
  #isToldAlready(method: string): boolean {
    if (!method.endsWith('/list_changed')) return false
    if (this.#told.has(method)) return true
    if (this.#told.size === 0) setImmediate(() => this.#told.clear())
    this.#told.add(method)
    return false
  }

  #answered(message: Record<string, unknown>): Verdict {
    const { id } = message
    if (!this.isWaiting(id)) return this.#stray(id)
    const fault = answerFault(message)
    if (fault !== undefined) return this.fail(id, `its answer ${fault}`)
    const waiting = isId(id) ? this.#waiting.get(id) : undefined
    if (isId(id)) this.#waiting.delete(id)
    if (waiting && !waiting.isUpkeep) this.#noteUse()
    const answer = waiting?.isRaw && isRecord(message.result) ? standInFor(message, message.result) : message
    return { message: answer as unknown as JSONRPCMessage }
  }

  #stray(id: unknown): Verdict {
    if (isId(id) && this.#cancelled.delete(id)) return {}
    const written = JSON.stringify(id)?.slice(0, 80)
    const waiting = this.#waitingAs(id)
    if (waiting === undefined) return { warning: `it answered a request that nobody made (id ${written})` }
    return this.fail(waiting, `it answered with id ${written} instead of ${JSON.stringify(waiting)}`)
  }

  /** The waiting id that is meant: the same, or the same but for its type. */
  #waitingAs(id: unknown): Id | undefined {
    if (!isId(id)) return undefined
    if (this.#waiting.has(id)) return id
    const other = typeof id === 'string' && id.trim() !== '' ? Number(id) : String(id)
    return this.#waiting.has(other) ? other : undefined
  }
}

/**
 * Hands a message on. The protocol code takes a moment over notifications and none over answers, so an answer waits
 * that moment; else the progress told right before it would be lost.
 */
export function handOn(message: JSONRPCMessage, receive: (message: JSONRPCMessage) => void): void {
  if ('method' in message) receive(message)
  else queueMicrotask(() => receive(message))
}

const RAW = Symbol('raw result')

/** The result as the server sent it, of a request sent within `guard.raw()`. */
export function rawResult(result: unknown): unknown {
  return isRecord(result) && RAW in result ? result[RAW] : result
}

/** An answer that satisfies every revision's schema, with the real result behind it. */
function standInFor(
  message: Record<string, unknown>,
  result: Record<string, unknown>,
): Record<string, unknown> {
  if (result.resultType !== undefined && result.resultType !== 'complete') return message
  const empty = { resultType: 'complete', content: [], tools: [], ttlMs: 0, cacheScope: 'private' }
  return { ...message, result: { ...empty, [RAW]: result } }
}

function isId(id: unknown): id is Id {
  return typeof id === 'string' || typeof id === 'number'
}

function answerFault(message: Record<string, unknown>): string | undefined {
  const { jsonrpc, result, error } = message
  if (jsonrpc !== '2.0') return 'is not JSON-RPC 2.0'
  if ('error' in message) {
    const isWhole = isRecord(error) && Number.isInteger(error.code) && typeof error.message === 'string'
    if (!isWhole) return `is a malformed error: ${excerpt(error)}`
  } else if (!isRecord(result)) return `has no result object: ${excerpt(result)}`
  return shapeFault(message)
}

function excerpt(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? 'nothing').slice(0, 200)
  } catch {
    return 'something unreadable'
  }
}

/** What makes a piece of JSON dangerous to walk or to copy. Walks level by level, so depth costs no stack. */
function shapeFault(message: object): string | undefined {
  let level: object[] = [message]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`
    const next: object[] = []
    for (const node of level) {
      if (Array.isArray(node)) {
        for (const item of node) if (typeof item === 'object' && item !== null) next.push(item)
        continue
      }
      for (const key of Object.keys(node)) {
        if (key === '__proto__') return 'has a key named __proto__'
        const value = (node as Record<string, unknown>)[key]
        if (typeof value === 'object' && value !== null) next.push(value)
      }
    }
    level = next
  }
  return undefined
}
