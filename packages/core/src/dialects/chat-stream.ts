import type OpenAI from 'openai'
import { isRecord } from '../json.ts'
import { ContentPieces, withoutOutputFields } from './chat-content.ts'
import type { StreamReader } from './dialect.ts'
import { readText } from './read-value.ts'
import { readArguments } from './wire-calls.ts'

type FinishReason = OpenAI.ChatCompletion.Choice['finish_reason']

/** Assembles a completion from the chunks of Chat Completions. */
export class ChatStreamReader implements StreamReader<OpenAI.ChatCompletionChunk, OpenAI.ChatCompletion> {
  #last: Record<string, unknown> = {}
  #usage: unknown
  readonly #content = new ContentPieces()
  #refusal = ''
  #finishReason: unknown
  /** Fields that servers add, such as `reasoning_content` and `reasoning_details`. */
  readonly #extra = new ExtraFields()
  #error: unknown
  readonly #calls: PartialCall[] = []
  /** The call that each index currently refers to. */
  readonly #current = new Map<unknown, PartialCall>()

  add(chunk: OpenAI.ChatCompletionChunk): string {
    if (!isRecord(chunk)) return ''
    this.#last = chunk
    if (isRecord(chunk.usage)) this.#usage = chunk.usage
    if (chunk.error) this.#error = chunk.error
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined
    if (!isRecord(choice)) return ''
    const delta = isRecord(choice.delta) ? choice.delta : {}
    const { content, refusal, tool_calls, role: _, function_call: __, ...extra } = withoutOutputFields(delta)
    const text = this.#content.add(content)
    this.#refusal += typeof refusal === 'string' ? refusal : ''
    for (const call of Array.isArray(tool_calls) ? tool_calls : []) if (isRecord(call)) this.#addCall(call)
    this.#extra.add(extra)
    if (choice.finish_reason) this.#finishReason = choice.finish_reason
    return text
  }

  response(): OpenAI.ChatCompletion {
    const toolCalls = this.#toolCalls()
    const { id, created, model } = this.#last
    return {
      id: typeof id === 'string' ? id : '',
      object: 'chat.completion',
      created: typeof created === 'number' ? created : 0,
      model: typeof model === 'string' ? model : '',
      choices: [
        {
          index: 0,
          logprobs: null,
          // Missing if the stream was cut; `toReply` reports that.
          finish_reason: this.#finishReason as FinishReason,
          message: {
            ...this.#extra.fields(),
            role: 'assistant',
            content: this.#content.content(),
            refusal: this.#refusal === '' ? null : this.#refusal,
            ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
          },
        },
      ],
      ...(this.#usage ? { usage: this.#usage as OpenAI.CompletionUsage } : {}),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    }
  }

  #addCall({ index = 0, id, type: _, function: called, ...extra }: Record<string, unknown>): void {
    const callId = typeof id === 'string' ? id : ''
    const name = isRecord(called) && typeof called.name === 'string' ? called.name : ''
    let call = this.#current.get(index)
    // Some servers give every call the index 0, or none; a chunk that opens a call there starts a new one.
    if (!call || call.isFollowedBy(callId, name)) {
      call = new PartialCall()
      this.#calls.push(call)
      this.#current.set(index, call)
    }
    call.add(callId, name, isRecord(called) ? called.arguments : undefined)
    call.extra.add(extra)
  }

  #toolCalls(): OpenAI.ChatCompletionMessageFunctionToolCall[] {
    const isCut = this.#finishReason === undefined
    return this.#calls
      .filter(({ name, args }) => name !== '' && (!isCut || isWhole(args)))
      .map(({ id, name, args, extra }) => ({
        ...extra.fields(),
        id,
        type: 'function',
        function: { name, arguments: args },
      }))
  }
}

class PartialCall {
  id = ''
  name = ''
  args = ''
  readonly extra = new ExtraFields()
  readonly #braces = new BraceCounter()

  add(id: string, name: string, args: unknown): void {
    this.id ||= id
    this.name ||= name
    // Some servers send arguments as an object.
    const text = typeof args === 'string' ? args : isRecord(args) ? JSON.stringify(args) : ''
    this.args += text
    this.#braces.add(text)
  }

  /**
   * Whether this chunk opens another call: it has another id or, without ids, a name after the arguments are
   * complete.
   */
  isFollowedBy(id: string, name: string): boolean {
    if (id !== '' && this.id !== '') return this.id !== id
    if (name === '' || this.name === '') return false
    return name !== this.name || this.#braces.isClosed
  }
}

/** Detects when a streamed JSON object is closed, without parsing it again with every piece. */
class BraceCounter {
  #depth = 0
  #isText = false
  #isEscaped = false
  isClosed = false

  add(text: string): void {
    for (const letter of text) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (letter === '\\') this.#isEscaped = this.#isText
      else if (letter === '"') this.#isText = !this.#isText
      else if (!this.#isText && letter === '{') this.#depth++
      else if (!this.#isText && letter === '}') this.isClosed = --this.#depth === 0
    }
  }
}

/** Of a cut stream, only calls with complete arguments are kept: no prefix of an object is itself an object. */
function isWhole(args: string): boolean {
  return args.trim() !== '' && readArguments(args) !== undefined
}

/** Fields of a message or call outside the provider's own API, kept so that they can be replayed. */
type Extra = Record<string, unknown>

/**
 * Collects the extra fields that stream chunks add to one message. Strings are concatenated and lists grow; a list
 * entry with the index of an earlier one continues it.
 */
class ExtraFields {
  readonly #fields: Extra = {}
  /** For each list, the position of the entry with an index and type. */
  readonly #places = new Map<string, Map<string, number>>()

  add(piece: Extra): void {
    for (const [field, value] of Object.entries(piece)) {
      if (value === null || value === undefined || field === '__proto__') continue
      const before = this.#fields[field]
      if (Array.isArray(value)) this.#addEntries(field, Array.isArray(before) ? before : [], value)
      else if (typeof before === 'string' && typeof value === 'string') this.#fields[field] = before + value
      else this.#fields[field] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value
    }
  }

  fields(): Extra {
    return { ...this.#fields }
  }

  #addEntries(field: string, entries: unknown[], added: readonly unknown[]): void {
    this.#fields[field] = entries
    const places = this.#places.get(field) ?? new Map<string, number>()
    this.#places.set(field, places)
    for (const entry of added) {
      const key = keyOf(entry)
      const place = key === undefined ? undefined : places.get(key)
      if (place !== undefined) entries[place] = joinEntry(entries[place], entry)
      else {
        if (key !== undefined) places.set(key, entries.length)
        entries.push(entry)
      }
    }
  }
}

/** Undefined for an entry without an index, which continues none. */
function keyOf(entry: unknown): string | undefined {
  if (!isRecord(entry) || (typeof entry.index !== 'number' && typeof entry.index !== 'string'))
    return undefined
  return `${entry.index} ${readText(entry.type)}`
}

/** Entry fields whose text arrives in pieces; the others arrive whole, repeated with every piece. */
const RUNNING: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

function joinEntry(before: unknown, piece: unknown): Extra {
  const joined: Extra = isRecord(before) ? { ...before } : {}
  for (const [field, value] of Object.entries(isRecord(piece) ? piece : {})) {
    if (value === null || value === undefined) continue
    const known = joined[field]
    joined[field] =
      RUNNING.has(field) && typeof known === 'string' && typeof value === 'string' ? known + value : value
  }
  return joined
}
