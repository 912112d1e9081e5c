import { isRecord } from '../json.ts'
import type { AiSdkCall, AiSdkMessage, AiSdkPart, AiSdkResponse, AiSdkUsage } from './ai-sdk-types.ts'
import type { StreamReader } from './dialect.ts'
import { readText } from './read-value.ts'

/** The fields of a part of `fullStream` that are read; other parts are ignored. */
export interface AiSdkStreamPart {
  readonly type: string
  readonly id?: string | undefined
  readonly text?: string | undefined
  readonly toolCallId?: string | undefined
  readonly toolName?: string | undefined
  readonly input?: unknown
  readonly invalid?: boolean | undefined
  readonly finishReason?: string | undefined
  readonly usage?: AiSdkUsage | undefined
  readonly totalUsage?: AiSdkUsage | undefined
  readonly providerMetadata?: unknown
}

/** Assembles one step from the parts of `fullStream`. */
export class AiSdkStreamReader implements StreamReader<AiSdkStreamPart, AiSdkResponse<AiSdkMessage>> {
  readonly #parts = new Map<string, AiSdkPart>()
  readonly #calls: AiSdkCall[] = []
  #text = ''
  #finishReason: string | undefined
  #usage: AiSdkUsage = {}

  add(part: AiSdkStreamPart): string {
    if (!isRecord(part) || typeof part.type !== 'string') return ''
    const { type } = part
    const text = readText(part.text)
    if (type === 'text-start' || type === 'text-delta' || type === 'text-end') {
      this.#append('text', part)
      if (type !== 'text-delta') return ''
      this.#text += text
      return text
    }
    if (type.startsWith('reasoning-')) this.#append('reasoning', part)
    else if (type === 'tool-call') this.#addCall(part)
    else if (type === 'finish-step' || type === 'finish') this.#finish(part)
    return ''
  }

  response(): AiSdkResponse<AiSdkMessage> {
    const content = [...this.#parts.values()].filter((part) => part.type === 'tool-call' || part.text !== '')
    return {
      text: this.#text,
      toolCalls: [...this.#calls],
      finishReason: this.#finishReason,
      usage: this.#usage,
      response: { messages: content.length > 0 ? [{ role: 'assistant', content }] : [] },
    }
  }

  #append(type: 'text' | 'reasoning', { id, text, ...part }: AiSdkStreamPart): void {
    const key = `${type} ${readText(id)}`
    const known = this.#parts.get(key)
    const before = known && known.type !== 'tool-call' ? known : { type, text: '' }
    this.#parts.set(key, { ...before, text: before.text + readText(text), ...options(part) })
  }

  #addCall(part: AiSdkStreamPart): void {
    const { input, invalid } = part
    const [toolCallId, toolName] = [readText(part.toolCallId), readText(part.toolName)]
    this.#calls.push({ toolCallId, toolName, input, ...(invalid === undefined ? {} : { invalid }) })
    const call: AiSdkPart = { type: 'tool-call', toolCallId, toolName, input, ...options(part) }
    this.#parts.set(`tool-call ${this.#calls.length}`, call)
  }

  #finish({ finishReason, usage, totalUsage }: AiSdkStreamPart): void {
    this.#finishReason = finishReason ?? this.#finishReason
    this.#usage = usage ?? totalUsage ?? this.#usage
  }
}

/** What a provider adds to a part must be sent back with it, such as the signature of a thought. */
function options({ providerMetadata }: AiSdkStreamPart) {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata as Record<string, never> }
}
