import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { setOwn, withoutHiding } from '@toolcrib/core/internal'

/**
 * Requests whose results stay as sent: the lockfile hashes these definitions, and the scanner reports what they hide.
 * They are cleaned where they are shown.
 */
export const DEFINITIONS: ReadonlySet<string | undefined> = new Set([
  'initialize',
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
])

/** Fields of the protocol that only programs read: what is compared or sent back. */
const EXACT: ReadonlySet<string> = new Set([
  '_meta',
  'elicitationId',
  'nextCursor',
  'progressToken',
  'requestId',
  'requestState',
  'taskId',
])
/** Fields with bytes in base64; anything else in them is text. */
const BYTES: ReadonlySet<string> = new Set(['blob', 'data'])
const BASE64 = /^[\w+/=\r\n-]*$/
const ADDRESSES: ReadonlySet<string> = new Set(['uri', 'url'])
/** Values without fields of the protocol: a field there is text, whatever its name. */
const FREE: ReadonlySet<string> = new Set([
  'structuredContent',
  'toolResult',
  'error',
  'requestedSchema',
  'inputSchema',
  'outputSchema',
  'input',
])

/**
 * A server's message without the characters that hide text from people, in every text that a person or a model may
 * read: results, errors, questions, log and progress messages. `method` is that of the request it responds to. Returns
 * the same object if nothing is hidden. Fields that only programs read stay exact; addresses, which cannot contain such
 * characters, get them as percent codes. `change` may change the texts in another way.
 */
export function visibleMessage(
  message: JSONRPCMessage,
  method?: string,
  change: TextChange = withoutHiding,
): JSONRPCMessage {
  if ('method' in message) {
    const { params } = message
    const isLog = message.method === 'notifications/message'
    const shown = isLog ? logParams(params, change) : visible(params, { change })
    return shown === params ? message : ({ ...message, params: shown } as JSONRPCMessage)
  }
  if ('error' in message) {
    const error = visible(message.error, { change, isFree: true })
    return error === message.error ? message : { ...message, error }
  }
  const result = DEFINITIONS.has(method) ? message.result : visible(message.result, { change })
  return result === message.result ? message : { ...message, result }
}

/** Returns a text with something removed; the same text if there is nothing to remove. */
export type TextChange = (text: string) => string

/** JSON without hidden characters in its texts and keys; the same object if there are none. */
export function visibleData<Value>(data: Value): Value {
  return visible(data, { change: withoutHiding, isFree: true })
}

/** The data of a log message may be anything. */
function logParams<Params>(params: Params, change: TextChange): Params {
  const shown = visible(params, { change })
  if (typeof params !== 'object' || params === null || !('data' in params)) return shown
  const data = visible(params.data, { change, isFree: true })
  return data === params.data ? shown : { ...shown, data }
}

function visible<Value>(value: Value, place: Place): Value {
  if (typeof value === 'string') return place.change(value) as Value
  if (typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? visibleList(value, place) : visibleRecord(value, place)) as Value
}

/** Where a value is: in data without fields of the protocol, or in an object whose keys are ids. */
interface Place {
  readonly change: TextChange
  readonly isFree?: boolean
  readonly hasExactKeys?: boolean
}

function visibleList(list: readonly unknown[], place: Place): readonly unknown[] {
  let copy: unknown[] | undefined
  for (const [at, item] of list.entries()) {
    const shown = visible(item, place)
    if (shown === item) continue
    copy ??= [...list]
    copy[at] = shown
  }
  return copy ?? list
}

function visibleRecord(record: object, { change, isFree = false, hasExactKeys = false }: Place): object {
  const fields = Object.entries(record)
  let isChanged = false
  for (const field of fields) {
    const [key, value] = field
    if (!hasExactKeys) field[0] = change(key)
    const isAnyKey = isFree || hasExactKeys
    field[1] = isAnyKey ? visible(value, { change, isFree }) : visibleField(key, value, change)
    isChanged ||= field[0] !== key || field[1] !== value
  }
  if (!isChanged) return record
  const copy = {}
  for (const [key, value] of fields) setOwn(copy, key, value)
  return copy
}

function visibleField(key: string, value: unknown, change: TextChange): unknown {
  // Programs need each character of it, but no secrets of the config.
  if (key === '_meta' && change !== withoutHiding) return visible(value, { change, isFree: true })
  if (EXACT.has(key) || (BYTES.has(key) && typeof value === 'string' && BASE64.test(value))) return value
  if (ADDRESSES.has(key) && typeof value === 'string') return visibleAddress(value, change)
  return visible(value, { change, isFree: FREE.has(key), hasExactKeys: key === 'inputRequests' })
}

function visibleAddress(address: string, change: TextChange): string {
  if (change(address) === address) return address
  const encoded = Array.from(address, (character) => {
    if (withoutHiding(character) === character) return character
    // Half of a surrogate pair has no percent code.
    return /\p{Cs}/u.test(character) ? '' : encodeURIComponent(character)
  }).join('')
  return change(encoded)
}
