import { isRecord } from '../json.ts'
import type { BedrockResponse, BedrockStreamEvent, BedrockUsage } from './bedrock-types.ts'
import type { StreamReader } from './dialect.ts'
import { readIndex, readText } from './read-value.ts'
import { readArguments } from './wire-calls.ts'

interface PartialBlock {
  text: string
  json: string
  reasoning: string
  signature: string
  redacted: unknown
  toolUse: Record<string, unknown> | undefined
  isFinished: boolean
}

/** Assembles a response from the events of `ConverseStream`. */
export class BedrockStreamReader implements StreamReader<BedrockStreamEvent, BedrockResponse> {
  readonly #blocks = new Map<number, PartialBlock>()
  #stopReason: string | undefined
  #usage: BedrockUsage | undefined
  #error: BedrockResponse['error']

  add(event: BedrockStreamEvent): string {
    if (!isRecord(event)) return ''
    const { contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata } = event
    if (isRecord(contentBlockStart)) this.#start(contentBlockStart)
    if (isRecord(contentBlockStop)) this.#blockAt(contentBlockStop.contentBlockIndex).isFinished = true
    if (isRecord(messageStop) && typeof messageStop.stopReason === 'string')
      this.#stopReason = messageStop.stopReason
    if (isRecord(metadata) && isRecord(metadata.usage)) this.#usage = metadata.usage
    for (const [code, thrown] of Object.entries(event)) {
      if (!code.endsWith('Exception') || !isRecord(thrown)) continue
      this.#error = { code, message: typeof thrown.message === 'string' ? thrown.message : code }
    }
    return isRecord(contentBlockDelta) ? this.#addDelta(contentBlockDelta) : ''
  }

  response(): BedrockResponse {
    const blocks = [...this.#blocks].sort(([first], [second]) => first - second)
    return {
      output: { message: { content: blocks.flatMap(([, block]) => toBlocks(block)) } },
      ...(this.#stopReason === undefined ? {} : { stopReason: this.#stopReason }),
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    }
  }

  #start({ start, contentBlockIndex }: Record<string, unknown>): void {
    const block = this.#blockAt(contentBlockIndex)
    if (isRecord(start) && isRecord(start.toolUse)) block.toolUse = start.toolUse
  }

  #addDelta({ delta, contentBlockIndex }: Record<string, unknown>): string {
    if (!isRecord(delta)) return ''
    const block = this.#blockAt(contentBlockIndex)
    const text = readText(delta.text)
    block.text += text
    if (isRecord(delta.toolUse)) block.json += readText(delta.toolUse.input)
    if (isRecord(delta.reasoningContent)) {
      block.reasoning += readText(delta.reasoningContent.text)
      block.signature += readText(delta.reasoningContent.signature)
      block.redacted = delta.reasoningContent.redactedContent ?? block.redacted
    }
    return text
  }

  /** Text blocks have no start, so any event may open a block. */
  #blockAt(given: unknown): PartialBlock {
    const index = readIndex(given)
    const known = this.#blocks.get(index)
    if (known) return known
    const block: PartialBlock = {
      text: '',
      json: '',
      reasoning: '',
      signature: '',
      redacted: undefined,
      toolUse: undefined,
      isFinished: false,
    }
    this.#blocks.set(index, block)
    return block
  }
}

/** The block as received so far; in an unfinished stream, only if it can be replayed. */
function toBlocks({
  text,
  json,
  reasoning,
  signature,
  redacted,
  toolUse,
  isFinished,
}: PartialBlock): object[] {
  if (text !== '') return [{ text }]
  if (!isFinished) return []
  // Unparsable arguments stay text; the reply explains the error.
  if (toolUse) return [{ toolUse: { ...toolUse, input: readArguments(json) ?? json } }]
  if (redacted !== undefined) return [{ reasoningContent: { redactedContent: redacted } }]
  if (reasoning === '') return []
  const signed = signature === '' ? {} : { signature }
  return [{ reasoningContent: { reasoningText: { text: reasoning, ...signed } } }]
}
