import type {
  AiSdkMessage,
  AiSdkPart,
  AiSdkRequest,
  AiSdkResponse,
} from '../../../../packages/core/src/dialects/ai-sdk.ts'
import type { AiSdkStreamPart } from '../../../../packages/core/src/dialects/ai-sdk-stream.ts'
import type { ProviderVoice, SpokenTurn } from '../../../../packages/core/src/dialects/dialect-contract.ts'
import { pieces, readJson } from './pieces.ts'

/** How `generateText` and `streamText` answer. */
export const aiSdkVoice: ProviderVoice<
  AiSdkMessage,
  AiSdkRequest<unknown, AiSdkMessage>,
  AiSdkResponse<AiSdkMessage>,
  AiSdkStreamPart
> = {
  canBeMalformed: true,
  respond,
  stream,
  toolNames: ({ tools }) => Object.keys(tools),
  callIds: (messages) => ({
    calls: messages.flatMap(({ role, content }) =>
      role === 'assistant' && typeof content !== 'string'
        ? content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
        : [],
    ),
    answers: messages.flatMap(({ role, content }) =>
      role === 'tool' ? content.map(({ toolCallId }) => toolCallId) : [],
    ),
  }),
}

const USAGE = {
  inputTokens: 100,
  outputTokens: 20,
  inputTokenDetails: { cacheReadTokens: 60, cacheWriteTokens: 10 },
}

function respond(turn: SpokenTurn): AiSdkResponse<AiSdkMessage> {
  const { text = '', thinking } = turn
  const content: AiSdkPart[] = [
    ...(thinking === undefined ? [] : [{ type: 'reasoning', text: thinking } as const]),
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...callsOf(turn).map((call) => ({ type: 'tool-call', ...call }) as const),
  ]
  return {
    text,
    finishReason: stopOf(turn),
    toolCalls: callsOf(turn),
    response: { messages: [{ role: 'assistant', content }] },
    usage: USAGE,
  }
}

function stream(turn: SpokenTurn): AiSdkStreamPart[] {
  const spoken = (type: string, text = '') =>
    text === ''
      ? []
      : [
          { type: `${type}-start`, id: '0' },
          ...pieces(text).map((piece) => ({ type: `${type}-delta`, id: '0', text: piece })),
          { type: `${type}-end`, id: '0' },
        ]
  return [
    { type: 'start' },
    { type: 'start-step' },
    ...spoken('reasoning', turn.thinking),
    ...spoken('text', turn.text),
    ...callsOf(turn).map((call) => ({ type: 'tool-call', ...call })),
    { type: 'finish-step', finishReason: stopOf(turn), usage: USAGE },
    { type: 'finish', finishReason: stopOf(turn), totalUsage: USAGE },
  ]
}

function callsOf({ calls = [] }: SpokenTurn) {
  return calls.map(({ id = '', name, args }) => ({ toolCallId: id, toolName: name, input: readJson(args) }))
}

function stopOf({ stop, calls = [] }: SpokenTurn): string {
  if (stop === 'refused') return 'content-filter'
  if (stop === 'length') return 'length'
  return calls.length > 0 ? 'tool-calls' : 'stop'
}
