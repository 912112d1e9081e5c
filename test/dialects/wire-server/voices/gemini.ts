import { type Content, FinishReason, type GenerateContentResponse, type Part } from '@google/genai'
import type { ProviderVoice, SpokenTurn } from '../../../../packages/core/src/dialects/dialect-contract.ts'
import type { GeminiRequest, GeminiResponse } from '../../../../packages/core/src/dialects/gemini.ts'
import { pieces, readJson } from './pieces.ts'

/** How Gemini speaks. It reads arguments itself: they are always an object. */
export const geminiVoice: ProviderVoice<Content, GeminiRequest, GeminiResponse, GenerateContentResponse> = {
  canBeMalformed: false,
  respond,
  stream,
  toolNames: ({ config }) =>
    (config.tools ?? []).flatMap(({ functionDeclarations = [] }) =>
      functionDeclarations.map(({ name = '' }) => name),
    ),
  callIds: (contents) => {
    const parts = contents.flatMap((content) => content.parts ?? [])
    return {
      calls: parts.flatMap(({ functionCall }) => (functionCall ? [functionCall.id ?? ''] : [])),
      answers: parts.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.id ?? ''] : [])),
    }
  },
}

const USAGE = {
  promptTokenCount: 100,
  cachedContentTokenCount: 60,
  candidatesTokenCount: 20,
  totalTokenCount: 120,
}

function respond(turn: SpokenTurn): GeminiResponse {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: partsOf(turn) }, finishReason: stopOf(turn) }],
    usageMetadata: USAGE,
  }
}

function stream(turn: SpokenTurn): GenerateContentResponse[] {
  const texts = (text: string | undefined, extra: Part = {}) =>
    pieces(text ?? '').map((piece) => ({ ...extra, text: piece }))
  const parts = [
    ...texts(turn.thinking, { thought: true }),
    ...texts(turn.text),
    ...partsOf({ calls: turn.calls ?? [] }),
  ]
  const chunks: GeminiResponse[] = parts.map((part) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [part] } }],
  }))
  chunks.push({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: '' }] }, finishReason: stopOf(turn) }],
    usageMetadata: USAGE,
  })
  return chunks as GenerateContentResponse[]
}

function partsOf({ text, thinking, calls = [] }: SpokenTurn): Part[] {
  return [
    ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ id, name, args }) => ({
      functionCall: {
        ...(id === undefined ? {} : { id }),
        name,
        args: (readJson(args) ?? {}) as Record<string, unknown>,
      },
      thoughtSignature: 'c2ln',
    })),
  ]
}

function stopOf({ stop }: SpokenTurn): FinishReason {
  if (stop === 'refused') return FinishReason.SAFETY
  return stop === 'length' ? FinishReason.MAX_TOKENS : FinishReason.STOP
}
