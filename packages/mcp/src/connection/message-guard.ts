import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { hidesNothing, isRecord, withoutHidden } from '@toolcrib/core/internal'
import { DEFINITIONS, type TextChange, visibleMessage } from './visible-message.ts'

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
/** The maximum length of a message with definitions, which is parsed without a pause: more than is used of a whole list. */
export const MAX_LIST_BYTES = 5 * 1024 * 1024
/** How many cancelled requests are remembered, so that their late responses cause no warning. */
const MAX_CANCELLED = 1_000

/**
 * Sits between a server and the protocol code, and forwards only what that code can handle. Every response must have
 * the exact id of a pending request. A malformed response becomes an error of its request, so that the caller fails
 * at once and no other request is affected. Characters that hide text from people, and secrets of the server's config,
 * are removed here, on the one way that all messages take.
 */
export class MessageGuard {
  /** true: hidden characters stay. */
  isLossless = false
  /** Removes the secrets of the server's config from a text; undefined if it has none. */
  conceal: TextChange | undefined
  readonly #waiting = new Map<Id, Waiting>()
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
      this.#waiting.set(message.id, { method: message.method, isUpkeep: isIdle })
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
    // It may quote the server.
    const shown = withoutHidden(reason)
    const error = { code: SERVER_FAULT, message: this.conceal?.(shown) ?? shown }
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

  /** Whether the request with this id waits for definitions. */
  isList(id: unknown): boolean {
    return isId(id) && DEFINITIONS.has(this.#waiting.get(id)?.method)
  }

  #called(message: Record<string, unknown>): Verdict {
    const { jsonrpc, id, params } = message
    const isWhole =
      jsonrpc === '2.0' && (id === undefined || isId(id)) && (params === undefined || isRecord(params))
    const { fault, isPlain } = isWhole ? inspect(message) : { fault: 'is malformed', isPlain: true }
    if (fault !== undefined) return { warning: `its "${String(message.method).slice(0, 80)}" ${fault}` }
    if (id === undefined && this.#isAnnounced(String(message.method))) return {}
    return { message: this.#visible(message, isPlain) }
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
    // Texts of definitions stay as they are.
    const { fault: shapeFault, isPlain } = inspect(message, { readsTexts: !this.isList(id) })
    const fault = answerFault(message) ?? shapeFault
    if (fault !== undefined) return this.fail(id, `its response ${fault}`)
    const waited = isId(id) ? this.#stopWaiting(id) : undefined
    if (waited?.isUpkeep === false) this.#noteUse()
    return { message: this.#visible(message, isPlain, waited?.method) }
  }

  #visible(message: Record<string, unknown>, isPlain: boolean, method?: string): JSONRPCMessage {
    const whole = message as unknown as JSONRPCMessage
    const shown = isPlain || this.isLossless ? whole : visibleMessage(whole, method)
    return this.conceal ? visibleMessage(shown, method, this.conceal) : shown
  }

  #stopWaiting(id: Id): Waiting | undefined {
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

interface Waiting {
  readonly method: string
  /** Upkeep does not count as use. */
  readonly isUpkeep: boolean
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
  return undefined
}

function excerpt(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? 'nothing').slice(0, 200)
  } catch {
    return 'something unreadable'
  }
}

/**
 * What makes JSON dangerous to walk or copy, and whether all its texts certainly hide nothing. Walks level by level, so
 * depth costs no stack.
 */
function inspect(
  message: object,
  { readsTexts = true } = {},
): { readonly fault?: string; readonly isPlain: boolean } {
  let isPlain = readsTexts
  // The same keys repeat in long lists.
  const keys = new Set<string>()
  let level: object[] = [message]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return { fault: `is nested more than ${MAX_DEPTH} levels deep`, isPlain }
    const next: object[] = []
    const look = (value: unknown) => {
      if (typeof value === 'object' && value !== null) next.push(value)
      else if (isPlain && typeof value === 'string') isPlain = hidesNothing(value)
    }
    for (const node of level) {
      if (Array.isArray(node)) {
        for (const item of node) look(item)
        continue
      }
      for (const key of Object.keys(node)) {
        if (key === '__proto__') return { fault: 'has a key named __proto__', isPlain }
        if (isPlain && !keys.has(key)) {
          keys.add(key)
          look(key)
        }
        look((node as Record<string, unknown>)[key])
      }
    }
    level = next
  }
  return { isPlain }
}
