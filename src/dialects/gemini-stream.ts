import type { FunctionCall, GenerateContentResponse, Part } from '@google/genai'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'
import { PartialGeminiCall } from './gemini-call.ts'

/** The part of a response that a dialect reads. */
export type GeminiResponse = Pick<
  GenerateContentResponse,
  'candidates' | 'promptFeedback' | 'usageMetadata' | 'responseId'
>

/** Assembles a response from its chunks. Leaves out a call that did not arrive whole. */
export class GeminiStreamReader implements StreamReader<GeminiResponse, GeminiResponse> {
  #last: GeminiResponse = {}
  readonly #parts: Part[] = []
  #call: PartialGeminiCall | undefined

  add(chunk: GeminiResponse): string {
    if (!isRecord(chunk)) return ''
    const [candidate] = Array.isArray(chunk.candidates) ? chunk.candidates : []
    const parts = partsOf(candidate)
    for (const part of parts) this.#addPart(part)
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

  #addPart(part: Part): void {
    const { functionCall } = part
    if (!functionCall || functionCall.name || !this.#call) {
      this.#call?.breakOff()
      this.#endCall()
    }
    if (!functionCall || !(this.#call || isPartial(functionCall))) {
      this.#join(part)
      return
    }
    this.#call ??= new PartialGeminiCall(part, functionCall)
    this.#call.add(part)
    if (functionCall.willContinue !== true) this.#endCall()
  }

  #endCall(): void {
    if (this.#call) this.#parts.push(this.#call.toPart())
    this.#call = undefined
  }

  /** Text continues across chunks, but Gemini accepts a signature only on the part that it came with. */
  #join(part: Part): void {
    const last = this.#parts.at(-1)
    const isContinued = isPlainText(last) && isPlainText(part) && last.thought === part.thought
    if (isContinued) this.#parts[this.#parts.length - 1] = { ...last, ...part, text: last.text + part.text }
    else if (!isPlainText(part) || part.text !== '' || !isText(last)) this.#parts.push(part)
  }
}

function isPartial({ partialArgs, willContinue }: FunctionCall): boolean {
  return willContinue === true || partialArgs !== undefined
}

function isText(part: Part | undefined): part is Part & { text: string } {
  return part?.text !== undefined
}

function isPlainText(part: Part | undefined): part is Part & { text: string } {
  return isText(part) && part.thoughtSignature === undefined
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
