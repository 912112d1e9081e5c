import type OpenAI from 'openai'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'
import { type Extra, joinExtra } from './join-extra.ts'
import { readArguments } from './wire-calls.ts'

type FinishReason = OpenAI.ChatCompletion.Choice['finish_reason']

interface PartialCall {
  readonly id: string
  readonly name: string
  readonly args: string
  readonly extra: Extra
}

/** Puts a completion together from the chunks of Chat Completions. */
export class ChatStreamReader implements StreamReader<OpenAI.ChatCompletionChunk, OpenAI.ChatCompletion> {
  #last: OpenAI.ChatCompletionChunk | undefined
  #usage: OpenAI.CompletionUsage | undefined
  #content = ''
  #refusal = ''
  #finishReason: FinishReason | undefined
  /** Fields that servers add, such as `reasoning_content` and `reasoning_details`. */
  #extra: Extra = {}
  #error: unknown
  readonly #calls: PartialCall[] = []
  /** Where in `#calls` the call stands that an index means now. */
  readonly #places = new Map<number, number>()

  add(chunk: OpenAI.ChatCompletionChunk): string {
    this.#last = chunk
    if (chunk.usage) this.#usage = chunk.usage
    if ('error' in chunk && chunk.error) this.#error = chunk.error
    const choice = chunk.choices?.[0]
    if (!choice) return ''
    const { content, refusal, tool_calls, role: _, function_call: __, ...extra } = choice.delta ?? {}
    this.#content += content ?? ''
    this.#refusal += refusal ?? ''
    for (const call of tool_calls ?? []) this.#addCall(call)
    this.#extra = joinExtra(this.#extra, extra)
    if (choice.finish_reason) this.#finishReason = choice.finish_reason
    return content ?? ''
  }

  response(): OpenAI.ChatCompletion {
    const toolCalls = this.#toolCalls()
    return {
      id: this.#last?.id ?? '',
      object: 'chat.completion',
      created: this.#last?.created ?? 0,
      model: this.#last?.model ?? '',
      choices: [
        {
          index: 0,
          logprobs: null,
          // Without one the stream was cut; `toReply` says so.
          finish_reason: this.#finishReason as FinishReason,
          message: {
            role: 'assistant',
            content: this.#content === '' ? null : this.#content,
            refusal: this.#refusal === '' ? null : this.#refusal,
            ...this.#extra,
            ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
          },
        },
      ],
      ...(this.#usage ? { usage: this.#usage } : {}),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    }
  }

  #addCall(delta: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall): void {
    const { index, id, type: _, function: called, ...extra } = delta
    const place = this.#placeOf(delta)
    const known = this.#calls[place]
    this.#calls[place] = {
      id: known?.id || id || '',
      name: known?.name || called?.name || '',
      args: (known?.args ?? '') + argumentsText(called?.arguments),
      extra: joinExtra(known?.extra ?? {}, extra),
    }
    this.#places.set(index ?? 0, place)
  }

  /** Some servers give every call the index 0, or none: what opens a call there is a call of its own. */
  #placeOf({ index, id, function: called }: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall): number {
    const place = this.#places.get(index ?? 0)
    const known = place === undefined ? undefined : this.#calls[place]
    if (place === undefined || !known) return this.#calls.length
    return opensAnother(known, id, called?.name) ? this.#calls.length : place
  }

  #toolCalls(): OpenAI.ChatCompletionMessageFunctionToolCall[] {
    const isCut = this.#finishReason === undefined
    return this.#calls
      .filter(({ name, args }) => name !== '' && (!isCut || isWhole(args)))
      .map(({ id, name, args, extra }) => ({
        ...extra,
        id,
        type: 'function',
        function: { name, arguments: args },
      }))
  }
}

/** Another id opens another call. Where there are no ids, a name does, once the call before has all its arguments. */
function opensAnother(known: PartialCall, id: string | undefined, name: string | undefined): boolean {
  if (id && known.id !== '') return known.id !== id
  if (!name || known.name === '') return false
  return name !== known.name || isWhole(known.args)
}

/** Of a cut stream only calls whose arguments are a whole object are kept: none of its beginnings is one. */
function isWhole(args: string): boolean {
  return args.trim() !== '' && readArguments(args) !== undefined
}

/** Some servers send arguments as an object. */
function argumentsText(args: unknown): string {
  if (typeof args === 'string') return args
  return isRecord(args) ? JSON.stringify(args) : ''
}
