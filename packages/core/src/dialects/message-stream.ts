import type Anthropic from '@anthropic-ai/sdk'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'
import { readIndex, readText } from './read-value.ts'
import { readArguments } from './wire-calls.ts'

/** A content block as received so far. */
interface StreamedBlock {
  readonly index: number
  block: Anthropic.ContentBlock
  /** The arguments of a call, as JSON text. */
  json: string
  citations?: Anthropic.TextCitation[]
  isFinished: boolean
}

/**
 * Assembles a message from the events of the Messages API. Some proxies start a block again, or give several blocks the
 * same index: each start begins another block, so that no text is lost that was streamed, and a call that starts again
 * replaces its earlier start, so that it runs once.
 */
export class MessageStreamReader implements StreamReader<Anthropic.RawMessageStreamEvent, Anthropic.Message> {
  #message: Anthropic.Message | undefined
  readonly #blocks: StreamedBlock[] = []
  /** The block that the next delta of each index belongs to. */
  readonly #current = new Map<number, StreamedBlock>()

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
      case 'content_block_stop': {
        const streamed = this.#current.get(readIndex(event.index))
        if (streamed) streamed.isFinished = true
        return ''
      }
      case 'message_delta':
        this.#finish(event)
        return ''
      default:
        return ''
    }
  }

  response(): Anthropic.Message {
    const blocks = [...this.#blocks].sort((first, second) => first.index - second.index)
    return { ...(this.#message ?? emptyMessage()), content: blocks.flatMap(replayable) }
  }

  #start(index: number, block: Anthropic.ContentBlock): string {
    if (!isRecord(block)) return ''
    // A text block may start without text; the deltas then contain all of it.
    const started = block.type === 'text' ? { ...block, text: readText(block.text) } : block
    const streamed: StreamedBlock = { index, block: started, json: '', isFinished: false }
    const earlier = this.#current.get(index)
    if (earlier && isSameCall(earlier.block, started))
      this.#blocks[this.#blocks.lastIndexOf(earlier)] = streamed
    else this.#blocks.push(streamed)
    this.#current.set(index, streamed)
    return started.type === 'text' ? started.text : ''
  }

  #addDelta(index: number, delta: Anthropic.RawContentBlockDelta): string {
    const streamed = this.#current.get(index)
    if (!streamed) return ''
    const { block } = streamed
    if (delta.type === 'text_delta' && block.type === 'text') {
      const text = readText(delta.text)
      streamed.block = { ...block, text: block.text + text }
      return text
    }
    if (delta.type === 'input_json_delta') {
      streamed.json += readText(delta.partial_json)
    } else if (delta.type === 'thinking_delta' && block.type === 'thinking') {
      streamed.block = { ...block, thinking: readText(block.thinking) + readText(delta.thinking) }
    } else if (delta.type === 'signature_delta' && block.type === 'thinking') {
      streamed.block = { ...block, signature: delta.signature }
    } else if (delta.type === 'citations_delta' && block.type === 'text') {
      streamed.citations ??= [...(block.citations ?? [])]
      streamed.citations.push(delta.citation)
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
}

/** The block as received so far; in an unfinished stream, only if it can be replayed. */
function replayable({ block, json, citations, isFinished }: StreamedBlock): Anthropic.ContentBlock[] {
  if (block.type === 'text') return block.text === '' ? [] : [citations ? { ...block, citations } : block]
  if (!isFinished) return []
  if (json === '' || !('input' in block)) return [block]
  // Unparsable arguments stay text; the reply explains the error.
  return [{ ...block, input: readArguments(json) ?? json } as Anthropic.ContentBlock]
}

function isSameCall(one: Anthropic.ContentBlock, other: Anthropic.ContentBlock): boolean {
  return 'input' in one && 'input' in other && one.id === other.id
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
