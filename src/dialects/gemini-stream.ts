import type { GenerateContentResponse, Part } from '@google/genai'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'

/** The part of a response that a dialect reads. */
export type GeminiResponse = Pick<
  GenerateContentResponse,
  'candidates' | 'promptFeedback' | 'usageMetadata' | 'responseId'
>

/** Assembles a response from its chunks. Calls arrive whole, so a cut stream never leaves a partial call. */
export class GeminiStreamReader implements StreamReader<GeminiResponse, GeminiResponse> {
  #last: GeminiResponse = {}
  readonly #parts: Part[] = []

  add(chunk: GeminiResponse): string {
    if (!isRecord(chunk)) return ''
    const [candidate] = Array.isArray(chunk.candidates) ? chunk.candidates : []
    const parts = partsOf(candidate)
    for (const part of parts) this.#join(part)
    this.#last = {
      ...this.#last,
      ...(chunk.responseId === undefined ? {} : { responseId: chunk.responseId }),
      ...(chunk.usageMetadata ? { usageMetadata: chunk.usageMetadata } : {}),
      ...(chunk.promptFeedback ? { promptFeedback: chunk.promptFeedback } : {}),
      ...(isRecord(candidate) ? { candidates: [{ ...this.#last.candidates?.[0], ...candidate }] } : {}),
    }
    return parts.flatMap(({ text, thought }) => (text && !thought ? [text] : [])).join('')
  }

  response(): GeminiResponse {
    if (!this.#last.candidates) return this.#last
    const content = { role: 'model', parts: [...this.#parts] }
    return { ...this.#last, candidates: [{ ...this.#last.candidates[0], content }] }
  }

  /** Text continues across chunks, except after a thought signature, which belongs to its own part. */
  #join(part: Part): void {
    const last = this.#parts.at(-1)
    if (last?.text === undefined || part.text === undefined) this.#parts.push(part)
    else if (last.thought === part.thought && last.thoughtSignature === undefined)
      this.#parts[this.#parts.length - 1] = { ...last, ...part, text: last.text + part.text }
    else if (part.text !== '' || part.thoughtSignature !== undefined) this.#parts.push(part)
  }
}

/** The readable parts of a candidate; parts with invalid text are left out. */
export function partsOf(candidate: unknown): readonly Part[] {
  const content = isRecord(candidate) ? candidate.content : undefined
  const parts: unknown[] = isRecord(content) && Array.isArray(content.parts) ? content.parts : []
  return parts.filter(
    (part): part is Part =>
      isRecord(part) &&
      (part.text === undefined || typeof part.text === 'string') &&
      (part.functionCall === undefined || isRecord(part.functionCall)),
  )
}
