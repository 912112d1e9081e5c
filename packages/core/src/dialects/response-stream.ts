import type OpenAI from 'openai'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'
import { readIndex } from './read-value.ts'
import { readArguments } from './wire-calls.ts'

type Response = OpenAI.Responses.Response
type OutputItem = OpenAI.Responses.ResponseOutputItem
type ErrorCode = OpenAI.Responses.ResponseError['code']

/** Takes the response from the events of the Responses API; if the stream is cut, the finished items. */
export class ResponseStreamReader implements StreamReader<OpenAI.Responses.ResponseStreamEvent, Response> {
  #response: Response | undefined
  #isFinal = false
  #error: Response['error'] = null
  #text = ''
  readonly #items = new Map<number, OutputItem>()

  add(event: OpenAI.Responses.ResponseStreamEvent): string {
    if (!isRecord(event)) return ''
    switch (event.type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        if (isRecord(event.response)) this.#response = event.response
        return ''
      case 'response.output_item.done':
        if (!isRecord(event.item)) return ''
        this.#items.set(readIndex(event.output_index), event.item)
        if (event.item.type === 'message') this.#text = ''
        return ''
      case 'response.output_text.delta':
        if (typeof event.delta !== 'string') return ''
        this.#text += event.delta
        return event.delta
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        if (!isRecord(event.response)) return ''
        this.#response = event.response
        this.#isFinal = true
        return ''
      case 'error':
        this.#error = { code: (event.code ?? 'server_error') as ErrorCode, message: event.message }
        return ''
      default:
        return ''
    }
  }

  response(): Response {
    if (this.#response && this.#isFinal) return this.#response
    const items = [...this.#items].sort(([first], [second]) => first - second).map(([, item]) => item)
    const whole = items.filter(
      (item) => item.type !== 'function_call' || readArguments(item.arguments) !== undefined,
    )
    const output = this.#text === '' ? whole : [...whole, unfinishedMessage(this.#text)]
    return {
      ...(this.#response ?? emptyResponse()),
      status: this.#error ? 'failed' : 'incomplete',
      error: this.#error,
      incomplete_details: null,
      output,
    }
  }
}

function unfinishedMessage(text: string): OpenAI.Responses.ResponseOutputMessage {
  return {
    id: 'msg_cut',
    type: 'message',
    role: 'assistant',
    status: 'incomplete',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
}

function emptyResponse(): Response {
  return {
    id: '',
    object: 'response',
    created_at: 0,
    model: '',
    output: [],
    output_text: '',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: null,
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
  }
}
