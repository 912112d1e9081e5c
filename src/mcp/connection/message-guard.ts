import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isRecord } from '../../json.ts'
import type { GuardedTransport } from './requests.ts'

type Id = string | number

/** The outcome of checking a message from a server. */
export interface Verdict {
  /** The message to forward: the original, or an error in its place. */
  readonly message?: JSONRPCMessage | undefined
  /** What was wrong with it. */
  readonly warning?: string | undefined
}

/** JSON nested deeper than this can overflow the stack of recursive code. No real response comes close. */
const MAX_DEPTH = 512
const SERVER_FAULT = -32_603
/** How many cancelled requests are remembered, so that their late responses cause no warning. */
const MAX_CANCELLED = 1_000

/**
 * Sits between a server and the protocol code, and forwards only what that code can handle. Every response must have
 * the exact id of a pending request. A malformed response becomes an error of its request, so that the caller fails
 * at once and no other request is affected.
 */
export class MessageGuard {
  /** The pending requests, and whether each is upkeep, which does not count as use. */
  readonly #waiting = new Map<Id, { readonly isUpkeep: boolean }>()
  readonly #cancelled = new Set<Id>()
  readonly #announced = new Set<string>()
  #inUse = 0
  #noteUse: () => void = () => {}

  /** Calls the listener for every request that counts as use, and for its response. */
  onUse(listener: () => void): void {
    this.#noteUse = listener
  }

  /** True while a request that counts as use is pending. */
  get isInUse(): boolean {
    return this.#inUse > 0
  }

  /** Records an outgoing message. */
  sent(message: JSONRPCMessage, { isUpkeep = false } = {}): void {
    if (!('method' in message)) return
    if ('id' in message) {
      // A subscription stays pending for as long as the connection lasts, so it does not count as use.
      const isIdle = isUpkeep || message.method === 'subscriptions/listen'
      this.#waiting.set(message.id, { isUpkeep: isIdle })
      if (isIdle) return
      this.#inUse++
      this.#noteUse()
      return
    }
    if (message.method === 'notifications/cancelled') this.forget(message.params?.requestId)
  }

  /** Stops waiting for a response; a late one is dropped without a warning. */
  forget(id: unknown): void {
    if (!isId(id) || !this.#stopWaiting(id)) return
    this.#cancelled.add(id)
    const [oldest] = this.#cancelled
    if (this.#cancelled.size > MAX_CANCELLED && oldest !== undefined) this.#cancelled.delete(oldest)
  }

  /** Checks an incoming message. */
  received(message: unknown): Verdict {
    if (!isRecord(message)) return { warning: 'it sent JSON that is not a message' }
    if (typeof message.method === 'string') return this.#called(message)
    if (!('id' in message)) return { warning: 'it sent an object that is not a message' }
    return this.#answered(message)
  }

  /** Returns an error for a pending request; only a warning when no request has that id. */
  fail(id: unknown, reason: string): Verdict {
    const waiting = this.#waitingAs(id)
    if (waiting === undefined) return { warning: reason }
    this.#stopWaiting(waiting)
    const error = { code: SERVER_FAULT, message: reason }
    return { message: { jsonrpc: '2.0', id: waiting, error }, warning: reason }
  }

  /** The id of the only pending request; undefined when there are none or several. */
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
    if (id === undefined && this.#isAnnounced(String(message.method))) return {}
    return { message: message as unknown as JSONRPCMessage }
  }

  /** Forwards a changed list once per turn of the event loop, however often the server repeats it. */
  #isAnnounced(method: string): boolean {
    if (!method.endsWith('/list_changed')) return false
    if (this.#announced.has(method)) return true
    if (this.#announced.size === 0) setImmediate(() => this.#announced.clear())
    this.#announced.add(method)
    return false
  }

  #answered(message: Record<string, unknown>): Verdict {
    const { id } = message
    if (!this.isWaiting(id)) return this.#stray(id)
    const fault = answerFault(message)
    if (fault !== undefined) return this.fail(id, `its response ${fault}`)
    if (isId(id) && this.#stopWaiting(id)?.isUpkeep === false) this.#noteUse()
    return { message: message as unknown as JSONRPCMessage }
  }

  #stopWaiting(id: Id): { readonly isUpkeep: boolean } | undefined {
    const waiting = this.#waiting.get(id)
    if (!waiting) return undefined
    this.#waiting.delete(id)
    if (!waiting.isUpkeep) this.#inUse--
    return waiting
  }

  #stray(id: unknown): Verdict {
    if (isId(id) && this.#cancelled.delete(id)) return {}
    const written = JSON.stringify(id)?.slice(0, 80)
    const waiting = this.#waitingAs(id)
    if (waiting === undefined) return { warning: `it responded to an unknown request (id ${written})` }
    return this.fail(waiting, `it responded with id ${written} instead of ${JSON.stringify(waiting)}`)
  }

  /** The pending id that a response refers to: the same, or the same apart from its type. */
  #waitingAs(id: unknown): Id | undefined {
    if (!isId(id)) return undefined
    if (this.#waiting.has(id)) return id
    const other = typeof id === 'string' && id.trim() !== '' ? Number(id) : String(id)
    return this.#waiting.has(other) ? other : undefined
  }
}

/**
 * Forwards a message, to `intercept` first. The SDK handles notifications a microtask later and responses at once, so
 * responses are delayed by as much; otherwise progress reported right before a response would be lost.
 */
export function handOn(
  message: JSONRPCMessage,
  { intercept, onmessage }: Pick<GuardedTransport, 'intercept' | 'onmessage'>,
): void {
  if (intercept?.(message)) return
  if ('method' in message) onmessage?.(message)
  else queueMicrotask(() => onmessage?.(message))
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

/** What makes JSON dangerous to walk or copy. Walks level by level, so depth costs no stack. */
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
