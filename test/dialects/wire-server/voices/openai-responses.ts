import type OpenAI from 'openai'
import type {
  ProviderVoice,
  SpokenCall,
  SpokenTurn,
} from '../../../../packages/core/src/dialects/dialect-contract.ts'
import type { ResponsesRequest } from '../../../../packages/core/src/dialects/openai-responses.ts'
import { pieces, readJson } from './pieces.ts'

type Response = OpenAI.Responses.Response
type Event = OpenAI.Responses.ResponseStreamEvent
type Item = OpenAI.Responses.ResponseOutputItem

/** A name that is the provider's own search is asked for through it. */
export const NATIVE_SEARCH = '(tool_search)'

/** A call of a namespaced tool is written `namespace::name`. */
export const responsesVoice: ProviderVoice<
  OpenAI.Responses.ResponseInputItem,
  ResponsesRequest,
  Response,
  Event
> = {
  canBeMalformed: true,
  respond,
  stream,
  toolNames: ({ tools }) => tools.map((tool) => (tool.type === 'function' ? tool.name : tool.type)),
  callIds: (items) => ({
    calls: items.flatMap((item) =>
      item.type === 'function_call' || item.type === 'tool_search_call' ? [item.call_id ?? ''] : [],
    ),
    answers: items.flatMap((item) =>
      item.type === 'function_call_output' || item.type === 'tool_search_output' ? [item.call_id ?? ''] : [],
    ),
  }),
}

function respond(turn: SpokenTurn): Response {
  const isLimited = turn.stop === 'length'
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'test',
    status: isLimited ? 'incomplete' : 'completed',
    output: itemsOf(turn),
    output_text: '',
    error: null,
    incomplete_details: isLimited ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    metadata: null,
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 120,
    },
  }
}

function stream(turn: SpokenTurn): Event[] {
  const response = respond(turn)
  const started: Response = { ...response, status: 'in_progress', incomplete_details: null, output: [] }
  let sequence_number = 0
  const events: Event[] = [
    { type: 'response.created', response: started, sequence_number: sequence_number++ },
    { type: 'response.in_progress', response: started, sequence_number: sequence_number++ },
  ]
  response.output.forEach((item, output_index) => {
    events.push({
      type: 'response.output_item.added',
      item,
      output_index,
      sequence_number: sequence_number++,
    })
    if (item.type === 'message') {
      for (const delta of pieces(turn.text ?? ''))
        events.push({
          type: 'response.output_text.delta',
          delta,
          content_index: 0,
          item_id: item.id,
          logprobs: [],
          output_index,
          sequence_number: sequence_number++,
        })
    }
    if (item.type === 'function_call') {
      for (const delta of pieces(item.arguments))
        events.push({
          type: 'response.function_call_arguments.delta',
          delta,
          item_id: item.id ?? '',
          output_index,
          sequence_number: sequence_number++,
        })
    }
    events.push({ type: 'response.output_item.done', item, output_index, sequence_number: sequence_number++ })
  })
  const type = response.status === 'incomplete' ? 'response.incomplete' : 'response.completed'
  events.push({ type, response, sequence_number: sequence_number++ })
  return events
}

function itemsOf({ text, thinking, calls = [], stop }: SpokenTurn): Item[] {
  return [
    ...(thinking === undefined ? [] : [reasoningOf(thinking)]),
    ...(text === undefined ? [] : [messageOf(text, stop === 'refused')]),
    ...calls.map((call, index) => callOf(call, index, stop === 'length' && index === calls.length - 1)),
  ]
}

function reasoningOf(text: string): Item {
  return { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text }] }
}

function messageOf(text: string, isRefusal: boolean): Item {
  return {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      isRefusal ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] },
    ],
  }
}

function callOf({ id = '', name, args }: SpokenCall, index: number, isCut: boolean): Item {
  const status = isCut ? 'incomplete' : 'completed'
  if (name === NATIVE_SEARCH) {
    return {
      type: 'tool_search_call',
      id: `tsc_${index}`,
      call_id: id,
      execution: 'client',
      status,
      arguments: readJson(args) ?? {},
    }
  }
  const [namespace, member] = name.includes('::') ? name.split('::') : [undefined, name]
  return {
    type: 'function_call',
    id: `fc_${index}`,
    call_id: id,
    name: member ?? name,
    ...(namespace === undefined ? {} : { namespace }),
    arguments: args,
    status,
  }
}
