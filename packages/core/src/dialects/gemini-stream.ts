import type { FunctionCall, GenerateContentResponse, Part, PartialArg } from '@google/genai'
import { isRecord } from '../json.ts'
import type { StreamReader } from './dialect.ts'

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

/** A call whose arguments arrive in pieces, which Gemini sends on request (`streamFunctionCallArguments`). */
class PartialGeminiCall {
  #part: Part
  readonly #call: FunctionCall
  readonly #args: Record<string, unknown>
  #isReadable = true

  constructor(part: Part, { partialArgs: _, willContinue: __, args, ...call }: FunctionCall) {
    this.#part = part
    this.#call = call
    this.#args = isRecord(args) ? { ...args } : {}
  }

  /** Adds the parts that open or continue this call. */
  add({ functionCall, ...part }: Part): void {
    if (part.thoughtSignature !== undefined)
      this.#part = { ...this.#part, thoughtSignature: part.thoughtSignature }
    const pieces: unknown = functionCall?.partialArgs
    for (const piece of Array.isArray(pieces) ? pieces : [])
      if (!isRecord(piece) || !setValue(this.#args, piece)) this.#isReadable = false
  }

  /** Records that something else follows before the call is complete. */
  breakOff(): void {
    this.#isReadable = false
  }

  /**
   * The call as if it had arrived whole. If a piece is missing, the arguments are not an object, so the call is not
   * run.
   */
  toPart(): Part {
    const args = this.#isReadable ? this.#args : (UNREADABLE as unknown as Record<string, unknown>)
    return { ...this.#part, functionCall: { ...this.#call, args } }
  }
}

const UNREADABLE = 'a piece of the arguments is missing or cannot be read'

/** Sets a value at its path, or appends it to the text there. Returns false if it cannot be read. */
function setValue(args: Record<string, unknown>, piece: PartialArg): boolean {
  const keys = keysOf(piece.jsonPath)
  const value = argumentOf(piece)
  const last = keys?.pop()
  if (!keys || last === undefined || value === undefined) return false
  let place: unknown = args
  for (const [index, key] of keys.entries()) {
    const next = keys[index + 1] ?? last
    if (!putAt(place, key, (known) => known ?? (typeof next === 'number' ? [] : {}))) return false
    place = (place as Record<string | number, unknown>)[key]
  }
  return putAt(place, last, (known) =>
    typeof known === 'string' && typeof value === 'string' ? known + value : value,
  )
}

function putAt(place: unknown, key: string | number, change: (known: unknown) => unknown): boolean {
  if (Array.isArray(place)) {
    // Items arrive in order; a gap is a piece that got lost.
    if (typeof key !== 'number' || key > place.length) return false
    place[key] = change(place[key])
    return true
  }
  if (!isRecord(place) || typeof key !== 'string' || key === '__proto__') return false
  place[key] = change(Object.hasOwn(place, key) ? place[key] : undefined)
  return true
}

function argumentOf({ stringValue, numberValue, boolValue, ...piece }: PartialArg): unknown {
  return stringValue ?? numberValue ?? boolValue ?? ('nullValue' in piece ? null : undefined)
}

const STEP = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

/** The keys of a path such as `$.stops[0].city`; undefined if it has another form. */
function keysOf(path: unknown): (string | number)[] | undefined {
  if (typeof path !== 'string' || !path.startsWith('$') || path.length > 1_000) return undefined
  const keys: (string | number)[] = []
  STEP.lastIndex = 1
  while (STEP.lastIndex < path.length) {
    const step = STEP.exec(path)
    if (!step) return undefined
    const [, name, index, ...quoted] = step
    const text = quoted.find((key) => key !== undefined)?.replace(/\\(.)/g, '$1')
    keys.push(index === undefined ? (name ?? text ?? '') : Number(index))
  }
  return keys
}
