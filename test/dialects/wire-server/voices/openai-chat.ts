import type OpenAI from 'openai'
import type { ProviderVoice, SpokenTurn } from '../../../../packages/core/src/dialects/dialect-contract.ts'
import type { ChatRequest } from '../../../../packages/core/src/dialects/openai-chat.ts'
import { pieces } from './pieces.ts'

type Chunk = OpenAI.ChatCompletionChunk
type Delta = OpenAI.ChatCompletionChunk.Choice.Delta & { reasoning_content?: string }

/** How Chat Completions speaks. */
export const chatVoice: ProviderVoice<
  OpenAI.ChatCompletionMessageParam,
  ChatRequest,
  OpenAI.ChatCompletion,
  Chunk
> = {
  canBeMalformed: true,
  respond,
  stream,
  toolNames: ({ tools = [] }) => tools.map((tool) => tool.function.name),
  callIds: (messages) => ({
    calls: messages.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [],
    ),
    answers: messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : [])),
  }),
}

const USAGE: OpenAI.CompletionUsage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60 },
}

function respond(turn: SpokenTurn): OpenAI.ChatCompletion {
  const { text, thinking, calls = [], stop } = turn
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'test',
    choices: [
      {
        index: 0,
        logprobs: null,
        finish_reason: stopOf(turn),
        message: {
          role: 'assistant',
          content: stop === 'refused' ? null : (text ?? null),
          refusal: stop === 'refused' ? (text ?? '') : null,
          ...(thinking === undefined ? {} : { reasoning_content: thinking }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ id = '', name, args }) => ({
                  id,
                  type: 'function',
                  function: { name, arguments: args },
                })),
              }),
        },
      },
    ],
    usage: USAGE,
  }
}

function stream(turn: SpokenTurn): Chunk[] {
  const { text = '', thinking = '', calls = [], stop } = turn
  const field = stop === 'refused' ? 'refusal' : 'content'
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(thinking).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(text).map((piece) => chunk({ [field]: piece })),
    ...calls.flatMap(({ id, name, args }, index) => [
      chunk({
        tool_calls: [{ index, type: 'function', ...(id ? { id } : {}), function: { name, arguments: '' } }],
      }),
      ...pieces(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, stopOf(turn)),
    { ...chunk({}), choices: [], usage: USAGE },
  ]
}

function chunk(
  delta: Delta,
  finish_reason: OpenAI.ChatCompletionChunk.Choice['finish_reason'] = null,
): Chunk {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'test',
    choices: [{ index: 0, delta, finish_reason }],
  }
}

function stopOf({ stop, calls = [] }: SpokenTurn): OpenAI.ChatCompletion.Choice['finish_reason'] {
  if (stop === 'length') return 'length'
  return calls.length > 0 ? 'tool_calls' : 'stop'
}
