import type Anthropic from '@anthropic-ai/sdk'
import type { MessagesRequest } from '../../../../packages/core/src/dialects/anthropic.ts'
import type { ProviderVoice, SpokenTurn } from '../../../../packages/core/src/dialects/dialect-contract.ts'
import { pieces, readJson } from './pieces.ts'

type Event = Anthropic.RawMessageStreamEvent

/** How the Messages API speaks. */
export const anthropicVoice: ProviderVoice<
  Anthropic.MessageParam,
  MessagesRequest,
  Anthropic.Message,
  Event
> = {
  canBeMalformed: true,
  respond,
  stream,
  toolNames: ({ tools }) => tools.flatMap((tool) => ('input_schema' in tool ? [tool.name] : [])),
  callIds: (messages) => {
    const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    return {
      calls: blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
      answers: blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : [])),
    }
  },
}

function respond(turn: SpokenTurn): Anthropic.Message {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'test',
    container: null,
    diagnostics: null,
    content: blocksOf(turn),
    stop_reason: stopOf(turn),
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
      output_tokens: 20,
      cache_creation: null,
      inference_geo: null,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: null,
      speed: null,
    },
  }
}

function stream(turn: SpokenTurn): Event[] {
  const message = respond(turn)
  const events: Event[] = [{ type: 'message_start', message: { ...message, content: [], stop_reason: null } }]
  blocksOf(turn).forEach((block, index) => {
    if (block.type === 'text') {
      events.push({ type: 'content_block_start', index, content_block: { ...block, text: '' } })
      for (const text of pieces(block.text))
        events.push({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })
    } else if (block.type === 'thinking') {
      events.push({
        type: 'content_block_start',
        index,
        content_block: { ...block, thinking: '', signature: '' },
      })
      for (const thinking of pieces(block.thinking))
        events.push({
          type: 'content_block_delta',
          index,
          delta: { type: 'thinking_delta', thinking } as Anthropic.ThinkingDelta,
        })
      events.push({
        type: 'content_block_delta',
        index,
        delta: { type: 'signature_delta', signature: block.signature },
      })
    } else if (block.type === 'tool_use') {
      events.push({ type: 'content_block_start', index, content_block: { ...block, input: {} } })
      const json = typeof block.input === 'string' ? block.input : JSON.stringify(block.input)
      for (const partial_json of pieces(json))
        events.push({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } })
    }
    events.push({ type: 'content_block_stop', index })
  })
  events.push(
    {
      type: 'message_delta',
      delta: { container: null, stop_details: null, stop_reason: stopOf(turn), stop_sequence: null },
      usage: {
        input_tokens: null,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
        output_tokens: 20,
        output_tokens_details: null,
        server_tool_use: null,
      },
    },
    { type: 'message_stop' },
  )
  return events
}

function blocksOf({ text, thinking, calls = [] }: SpokenTurn): Anthropic.ContentBlock[] {
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: 'sig' } as const]),
    ...(text === undefined ? [] : [{ type: 'text', text, citations: null } as const]),
    ...calls.map(
      ({ id = 'toolu_0', name, args }): Anthropic.ToolUseBlock => ({
        type: 'tool_use',
        id,
        name,
        input: readJson(args) ?? {},
        caller: { type: 'direct' },
      }),
    ),
  ]
}

function stopOf({ stop, calls = [] }: SpokenTurn): Anthropic.StopReason {
  if (stop === 'refused') return 'refusal'
  if (stop === 'length') return 'max_tokens'
  return calls.length > 0 ? 'tool_use' : 'end_turn'
}
