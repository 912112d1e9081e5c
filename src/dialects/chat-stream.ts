import type OpenAI from 'openai'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'
import { readArguments } from './wire-calls.ts'

type FinishReason = OpenAI.ChatCompletion.Choice['finish_reason']

interface PartialCall {
  readonly id: string
  readonly name: string
  readonly args: string
}

/** Puts a completion together from the chunks of Chat Completions. */
export class ChatStreamReader implements StreamReader<OpenAI.ChatCompletionChunk, OpenAI.ChatCompletion> {
  #last: OpenAI.ChatCompletionChunk | undefined
  #usage: OpenAI.CompletionUsage | undefined
  #content = ''
  #refusal = ''
  #finishReason: FinishReason | undefined
  /** Text fields that servers add, such as `reasoning_content`. */
  #extra: Record<string, string> = {}
  readonly #calls = new Map<number, PartialCall>()

  add(chunk: OpenAI.ChatCompletionChunk): string {
    this.#last = chunk
    if (chunk.usage) this.#usage = chunk.usage
    const choice = chunk.choices?.[0]
    if (!choice) return ''
    const { content, refusal, tool_calls, role: _, function_call: __, ...extra } = choice.delta ?? {}
    this.#content += content ?? ''
    this.#refusal += refusal ?? ''
    for (const call of tool_calls ?? []) this.#addCall(call)
    for (const [field, text] of Object.entries(extra))
      if (typeof text === 'string')
        this.#extra = { ...this.#extra, [field]: (this.#extra[field] ?? '') + text }
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
    }
  }

  #addCall(delta: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall): void {
    const place = this.#placeOf(delta)
    const known = this.#calls.get(place)
    this.#calls.set(place, {
      id: known?.id || delta.id || '',
      name: known?.name || delta.function?.name || '',
      args: (known?.args ?? '') + argumentsText(delta.function?.arguments),
    })
  }

  /** Some servers give every call the index 0, or none: a new id there is a new call. */
  #placeOf({ index, id }: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall): number {
    const place = index ?? Math.max(0, this.#calls.size - 1)
    const known = this.#calls.get(place)
    return known && id && known.id !== '' && known.id !== id ? this.#calls.size : place
  }

  #toolCalls(): OpenAI.ChatCompletionMessageFunctionToolCall[] {
    const calls = [...this.#calls].sort(([first], [second]) => first - second).map(([, call]) => call)
    const isCut = this.#finishReason === undefined
    return calls
      .filter(({ name, args }) => name !== '' && (!isCut || isWhole(args)))
      .map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: args } }))
  }
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
