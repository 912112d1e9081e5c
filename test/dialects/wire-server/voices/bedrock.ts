import type {
  BedrockMessage,
  BedrockRequest,
  BedrockResponse,
  BedrockStreamEvent,
} from '../../../../packages/core/src/dialects/bedrock.ts'
import type { ProviderVoice, SpokenTurn } from '../../../../packages/core/src/dialects/dialect-contract.ts'
import { pieces, readJson } from './pieces.ts'

/** How Converse speaks. */
export const bedrockVoice: ProviderVoice<
  BedrockMessage,
  BedrockRequest,
  BedrockResponse,
  BedrockStreamEvent
> = {
  canBeMalformed: true,
  takesBytes: true,
  respond,
  stream,
  toolNames: ({ toolConfig }) =>
    (toolConfig?.tools ?? []).flatMap((tool) => ('toolSpec' in tool ? [tool.toolSpec.name] : [])),
  callIds: (messages) => {
    const blocks = messages.flatMap(({ content }) => content)
    return {
      calls: blocks.flatMap((block) => ('toolUse' in block ? [block.toolUse.toolUseId] : [])),
      answers: blocks.flatMap((block) => ('toolResult' in block ? [block.toolResult.toolUseId] : [])),
    }
  },
}

const USAGE = { inputTokens: 30, outputTokens: 20, cacheReadInputTokens: 60, cacheWriteInputTokens: 10 }

function respond(turn: SpokenTurn): BedrockResponse {
  const { text, thinking, calls = [] } = turn
  return {
    output: {
      message: {
        content: [
          ...(thinking === undefined
            ? []
            : [{ reasoningContent: { reasoningText: { text: thinking, signature: 'sig' } } }]),
          ...(text === undefined ? [] : [{ text }]),
          ...calls.map(({ id = 'tooluse_0', name, args }) => ({
            toolUse: { toolUseId: id, name, input: readJson(args) ?? {} },
          })),
        ],
      },
    },
    stopReason: stopOf(turn),
    usage: USAGE,
  }
}

function stream(turn: SpokenTurn): BedrockStreamEvent[] {
  const { text, thinking, calls = [] } = turn
  let contentBlockIndex = 0
  const events: BedrockStreamEvent[] = []
  const delta = (piece: object) => events.push({ contentBlockDelta: { contentBlockIndex, delta: piece } })
  const end = () => events.push({ contentBlockStop: { contentBlockIndex: contentBlockIndex++ } })
  if (thinking !== undefined) {
    for (const piece of pieces(thinking)) delta({ reasoningContent: { text: piece } })
    delta({ reasoningContent: { signature: 'sig' } })
    end()
  }
  if (text !== undefined) {
    for (const piece of pieces(text)) delta({ text: piece })
    end()
  }
  for (const { id = 'tooluse_0', name, args } of calls) {
    events.push({ contentBlockStart: { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } } })
    for (const input of pieces(args)) delta({ toolUse: { input } })
    end()
  }
  events.push({ messageStop: { stopReason: stopOf(turn) } }, { metadata: { usage: USAGE } })
  return events
}

function stopOf({ stop, calls = [] }: SpokenTurn): string {
  if (stop === 'refused') return 'content_filtered'
  if (stop === 'length') return 'max_tokens'
  return calls.length > 0 ? 'tool_use' : 'end_turn'
}
