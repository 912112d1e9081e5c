import type Anthropic from '@anthropic-ai/sdk'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'
import { readIndex, readText } from './read-value.ts'
import { readArguments } from './wire-calls.ts'

/** Assembles a message from the events of the Messages API. */
export class MessageStreamReader implements StreamReader<Anthropic.RawMessageStreamEvent, Anthropic.Message> {
  #message: Anthropic.Message | undefined
  readonly #blocks = new Map<number, Anthropic.ContentBlock>()
  readonly #json = new Map<number, string>()
  readonly #finished = new Set<number>()
  readonly #citations = new Map<number, Anthropic.TextCitation[]>()

  add(event: Anthropic.RawMessageStreamEvent): string {
    if (!isRecord(event)) return ''
    switch (event.type) {
      case 'message_start':
        if (isRecord(event.message)) this.#message = event.message
        return ''
      case 'content_block_start':
        return this.#start(readIndex(event.index), event.content_block)
      case 'content_block_delta':
        return isRecord(event.delta) ? this.#addDelta(readIndex(event.index), event.delta) : ''
      case 'content_block_stop':
        this.#finished.add(readIndex(event.index))
        return ''
      case 'message_delta':
        this.#finish(event)
        return ''
      default:
        return ''
    }
  }

  response(): Anthropic.Message {
    const blocks = [...this.#blocks].sort(([first], [second]) => first - second)
    const content = blocks.flatMap(([index, block]) => this.#block(index, block))
    return { ...(this.#message ?? emptyMessage()), content }
  }

  #start(index: number, block: Anthropic.ContentBlock): string {
    if (!isRecord(block)) return ''
    // A text block may start without text; the deltas then contain all of it.
    const started = block.type === 'text' ? { ...block, text: readText(block.text) } : block
    this.#blocks.set(index, started)
    return started.type === 'text' ? started.text : ''
  }

  #addDelta(index: number, delta: Anthropic.RawContentBlockDelta): string {
    const block = this.#blocks.get(index)
    if (!block) return ''
    if (delta.type === 'text_delta' && block.type === 'text') {
      const text = readText(delta.text)
      this.#blocks.set(index, { ...block, text: block.text + text })
      return text
    }
    if (delta.type === 'input_json_delta') {
      this.#json.set(index, (this.#json.get(index) ?? '') + readText(delta.partial_json))
    } else if (delta.type === 'thinking_delta' && block.type === 'thinking') {
      this.#blocks.set(index, { ...block, thinking: readText(block.thinking) + readText(delta.thinking) })
    } else if (delta.type === 'signature_delta' && block.type === 'thinking') {
      this.#blocks.set(index, { ...block, signature: delta.signature })
    } else if (delta.type === 'citations_delta' && block.type === 'text') {
      const citations = this.#citations.get(index) ?? [...(block.citations ?? [])]
      citations.push(delta.citation)
      this.#citations.set(index, citations)
    }
    return ''
  }

  #finish({ delta, usage }: Anthropic.RawMessageDeltaEvent): void {
    const message = this.#message ?? emptyMessage()
    const counted = Object.fromEntries(
      Object.entries(usage ?? {}).filter(([, count]) => count !== null && count !== undefined),
    )
    this.#message = { ...message, ...delta, usage: { ...message.usage, ...counted } }
  }

  /** The block as received so far; in an unfinished stream, only if it can be replayed. */
  #block(index: number, block: Anthropic.ContentBlock): Anthropic.ContentBlock[] {
    const isFinished = this.#finished.has(index)
    const citations = this.#citations.get(index)
    if (block.type === 'text') return block.text === '' ? [] : [citations ? { ...block, citations } : block]
    if (!isFinished) return []
    const json = this.#json.get(index)
    if (json === undefined || json === '' || !('input' in block)) return [block]
    // Unparsable arguments stay text; the reply explains the error.
    return [{ ...block, input: readArguments(json) ?? json } as Anthropic.ContentBlock]
  }
}

function emptyMessage(): Anthropic.Message {
  return {
    id: '',
    type: 'message',
    role: 'assistant',
    model: '',
    container: null,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    diagnostics: null,
    usage: {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      inference_geo: null,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: null,
      speed: null,
    },
  }
}
