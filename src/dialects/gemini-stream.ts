import type { GenerateContentResponse, Part } from '@google/genai'
import type { StreamReader } from './dialect.ts'

/** What of a response a dialect reads. */
export type GeminiResponse = Pick<
  GenerateContentResponse,
  'candidates' | 'promptFeedback' | 'usageMetadata' | 'responseId'
>

/** Puts a response together from its chunks. Calls come whole, so a cut stream loses none by half. */
export class GeminiStreamReader implements StreamReader<GeminiResponse, GeminiResponse> {
  #last: GeminiResponse = {}
  #parts: readonly Part[] = []

  add(chunk: GeminiResponse): string {
    const parts = chunk.candidates?.[0]?.content?.parts ?? []
    for (const part of parts) this.#parts = join(this.#parts, part)
    this.#last = {
      ...this.#last,
      ...(chunk.responseId === undefined ? {} : { responseId: chunk.responseId }),
      ...(chunk.usageMetadata ? { usageMetadata: chunk.usageMetadata } : {}),
      ...(chunk.promptFeedback ? { promptFeedback: chunk.promptFeedback } : {}),
      ...(chunk.candidates
        ? { candidates: [{ ...this.#last.candidates?.[0], ...chunk.candidates[0] }] }
        : {}),
    }
    return parts.flatMap(({ text, thought }) => (text && !thought ? [text] : [])).join('')
  }

  response(): GeminiResponse {
    if (!this.#last.candidates) return this.#last
    const content = { role: 'model', parts: [...this.#parts] }
    return { ...this.#last, candidates: [{ ...this.#last.candidates[0], content }] }
  }
}

/** Text runs on from chunk to chunk, except over a thought signature, which belongs to its own part. */
function join(parts: readonly Part[], part: Part): readonly Part[] {
  const last = parts.at(-1)
  if (last?.text === undefined || part.text === undefined) return [...parts, part]
  const runsOn = last.thought === part.thought && last.thoughtSignature === undefined
  if (runsOn) return [...parts.slice(0, -1), { ...last, ...part, text: last.text + part.text }]
  return isEmpty(part) ? parts : [...parts, part]
}

function isEmpty(part: Part): boolean {
  return part.text === '' && part.thoughtSignature === undefined
}
