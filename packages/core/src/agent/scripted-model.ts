import type { ChatRequest } from '../dialects/openai-chat.ts'
import { openaiChat } from '../dialects/openai-chat.ts'
import type { Model, SendOptions } from './model.ts'

type ChatDialect = ReturnType<typeof openaiChat>
type ChatMessage = ReturnType<ChatDialect['userMessage']>
type ChatResponse = Parameters<ChatDialect['toReply']>[0]

/** One answer of a scripted model. */
export interface ScriptedTurn {
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
  readonly refusal?: string
  /** `cut` ends the stream early, `length` at the token limit. */
  readonly stop?: 'cut' | 'length'
  readonly inputTokens?: number
  readonly cachedInputTokens?: number
  readonly outputTokens?: number
}

/** One call of a scripted model; an id is generated if it has none. */
export interface ScriptedCall {
  readonly id?: string
  readonly name: string
  /** An object, or the raw text to send. */
  readonly args?: object | string
}

/** A model that answers from a script and records its requests. */
export interface ScriptedModel extends Model<ChatMessage, ChatRequest, ChatResponse> {
  /** Its requests, in order. */
  readonly requests: readonly ChatRequest[]
}

type Script =
  | readonly (ScriptedTurn | Error)[]
  | ((
      request: ChatRequest,
      options: SendOptions,
      index: number,
    ) => ScriptedTurn | Error | Promise<ScriptedTurn | Error>)

/**
 * A model that answers from a script, in the format of Chat Completions: for trying an agent and its tools without a
 * provider. An `Error` in the script is thrown as the provider's. After the end of the script, every answer is the text
 * `done`.
 */
export function scriptedModel(script: Script): ScriptedModel {
  const requests: ChatRequest[] = []
  return {
    id: 'scripted',
    dialect: openaiChat(),
    requests,
    async send(request, options) {
      const index = requests.push(request) - 1
      const turn = typeof script === 'function' ? await script(request, options, index) : script[index]
      if (turn instanceof Error) throw turn
      const { text = turn ? '' : 'done' } = turn ?? {}
      // Word by word, like a stream.
      for (const piece of text.match(/\S+\s*/g) ?? []) options.onText(piece)
      return { response: toResponse({ ...turn, text }, index) }
    },
  }
}

function toResponse(turn: ScriptedTurn, index: number): ChatResponse {
  const { text = '', calls = [], refusal } = turn
  const { inputTokens = 0, cachedInputTokens = 0, outputTokens = 0 } = turn
  return {
    id: `answer-${index}`,
    object: 'chat.completion',
    created: 0,
    model: 'scripted',
    choices: [
      {
        index: 0,
        logprobs: null,
        finish_reason: finishReason(turn),
        message: {
          role: 'assistant',
          content: text === '' ? null : text,
          refusal: refusal ?? null,
          ...(calls.length > 0
            ? { tool_calls: calls.map((call, place) => toToolCall(call, index, place)) }
            : {}),
        },
      },
    ],
    usage: {
      prompt_tokens: inputTokens + cachedInputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + cachedInputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: cachedInputTokens },
    },
  }
}

type FinishReason = ChatResponse['choices'][number]['finish_reason']

function finishReason({ calls, stop }: ScriptedTurn): FinishReason {
  // A cut stream has no reason, whatever the types say.
  if (stop === 'cut') return null as unknown as FinishReason
  if (stop === 'length') return 'length'
  return calls && calls.length > 0 ? 'tool_calls' : 'stop'
}

function toToolCall({ id, name, args = {} }: ScriptedCall, turn: number, place: number) {
  return {
    id: id ?? `call_${turn}_${place}`,
    type: 'function' as const,
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }
}
