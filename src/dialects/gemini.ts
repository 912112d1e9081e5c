import type { Content, FunctionDeclaration, GenerateContentResponse, Part, Tool } from '@google/genai'
import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Reply, Stop } from '../reply.ts'
import { GEMINI_RULES } from '../schema/translate/schema-rules.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { type GeminiResponse, GeminiStreamReader } from './gemini-stream.ts'
import { resultParts } from './result-parts.ts'
import { answersTo, readArguments, readCalls, uniqueIds, type WireCall } from './wire-calls.ts'
import { type WireTools, wireToolsBy } from './wire-tools.ts'

/** The part of a request that `generateContent` takes from a dialect. */
export interface GeminiRequest {
  contents: Content[]
  config: { tools?: Tool[]; systemInstruction?: string }
}

export type { GeminiResponse } from './gemini-stream.ts'

/** The dialect of Gemini, in the types of `@google/genai`. */
export type GeminiDialect = Dialect<Content, GeminiRequest, GeminiResponse, GenerateContentResponse>

const MAX_DECLARATIONS = 512

/**
 * Google's Gemini API. It cannot defer, and every change of a tool drops the cache, so the surface stays constant and
 * found tools are called through `call_tool`.
 */
export function gemini(): GeminiDialect {
  const wireTools = wireToolsBy(GEMINI_RULES)
  const toReply = (response: GeminiResponse, surface: Surface): Reply => {
    const { calls, unrunnable: unread } = readCalls(wireCallsOf(response), wireTools(surface))
    const unrunnable = isMalformed(response) ? [...unread, MALFORMED_CALL] : unread
    const refusal = response.candidates?.[0]?.finishMessage ?? response.promptFeedback?.blockReasonMessage
    const stop = stopOf(response, calls.length + unrunnable.length > 0)
    return {
      text: partsOf(response)
        .flatMap((part) => (part.text && !part.thought ? [part.text] : []))
        .join(''),
      calls,
      unrunnable,
      stop,
      ...(stop === 'refused' && refusal ? { refusal } : {}),
      usage: usageOf(response),
    }
  }
  return {
    name: 'gemini',
    strategy: 'dispatch',
    toRequest: (input) => toRequest(input, wireTools(input.surface)),
    toReply,
    toCalls: (response, surface) => toReply(response, surface).calls,
    toMessages: (response, results, surface) => toMessages(response, results, wireTools(surface)),
    userMessage: (text) => ({ role: 'user', parts: [{ text }] }),
    openStream: () => new GeminiStreamReader(),
    lossesOf: (surface) => wireTools(surface).losses(),
  }
}

function toRequest(input: RequestInput<Content>, { shown, deferred }: WireTools): GeminiRequest {
  const tools = [...shown, ...deferred]
  if (tools.length > MAX_DECLARATIONS) {
    throw new ToolcribError(
      'config-invalid',
      `the surface has ${tools.length} tools and a request takes ${MAX_DECLARATIONS}; open the session with mode "lazy", or pin fewer tools`,
    )
  }
  const system = systemText(input)
  const functionDeclarations = tools.map(
    ({ name, description, parameters }): FunctionDeclaration => ({
      name,
      description,
      parametersJsonSchema: parameters,
    }),
  )
  return {
    contents: [...input.messages],
    config: {
      ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations }] }),
      ...(system === '' ? {} : { systemInstruction: system }),
    },
  }
}

function partsOf(response: GeminiResponse): readonly Part[] {
  return response.candidates?.[0]?.content?.parts ?? []
}

function wireCallsOf(response: GeminiResponse): readonly WireCall[] {
  const calls = partsOf(response).flatMap(({ functionCall }) => (functionCall ? [functionCall] : []))
  const ids = uniqueIds(
    calls.map(({ id }) => id),
    response.responseId,
  )
  return calls.map(({ name, args }, index) => ({ id: ids[index] ?? '', wireName: name ?? '', args }))
}

function toMessages(
  response: GeminiResponse,
  results: readonly CallResult[],
  tools: WireTools,
): readonly Content[] {
  if (isRefused(response)) return []
  const parts = partsOf(response)
  // Gemini gives back nothing of a call it could not form; told of it, the model tries again.
  const correction: Part[] = isMalformed(response) ? [{ text: CORRECTION }] : []
  if (parts.length === 0 && correction.length === 0) return []
  const wireCalls = wireCallsOf(response)
  const sent = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []))
  // Every part goes back as it came: thought signatures are bound to their places.
  const reply: Content = {
    role: 'model',
    parts:
      parts.length === 0 ? [{ text: '(a function call that could not be read)' }] : parts.map(replayPart),
  }
  if (wireCalls.length + correction.length === 0) return [reply]
  const answers = answersTo(wireCalls, results, tools)
  return [
    reply,
    {
      role: 'user',
      parts: [
        ...answers.map((answer, index): Part => {
          const { id, name = '' } = sent[index] ?? {}
          return { functionResponse: { ...(id === undefined ? {} : { id }), name, ...responseOf(answer) } }
        }),
        ...correction,
      ],
    },
  ]
}

const CORRECTION = 'The function call could not be read. Make it again, with arguments in valid JSON.'

/** Stands for the call that never came, so that whoever counts calls counts this one. */
const MALFORMED_CALL: CallResult = {
  toolCallId: 'malformed',
  name: 'malformed_call',
  result: { ok: false, code: 'input_invalid', error: CORRECTION },
  durationMs: 0,
}

function isMalformed(response: GeminiResponse): boolean {
  const reason = response.candidates?.[0]?.finishReason
  return reason === 'MALFORMED_FUNCTION_CALL' || reason === 'UNEXPECTED_TOOL_CALL'
}

function replayPart(part: Part): Part {
  if (!part.functionCall || isRecord(part.functionCall.args)) return part
  return {
    ...part,
    functionCall: { ...part.functionCall, args: readArguments(part.functionCall.args) ?? {} },
  }
}

function responseOf({ result }: CallResult) {
  const parts = resultParts(result, (mimeType) => SHOWN_TYPES.has(mimeType))
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
  const media = parts.flatMap((part) =>
    part.kind === 'media' ? [{ inlineData: { mimeType: part.mimeType, data: part.data } }] : [],
  )
  return {
    response: result.ok ? { output: text } : { error: text },
    ...(media.length > 0 ? { parts: media } : {}),
  }
}

/** What Gemini reads inline; anything else fails the whole request. */
const SHOWN_TYPES: ReadonlySet<string> = new Set([
  'application/pdf',
  ...['png', 'jpeg', 'webp', 'heic', 'heif'].map((kind) => `image/${kind}`),
  ...['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac'].map((kind) => `audio/${kind}`),
  ...['mp4', 'mpeg', 'quicktime', 'mov', 'avi', 'x-flv', 'mpg', 'webm', 'wmv', '3gpp'].map(
    (kind) => `video/${kind}`,
  ),
])

const REFUSALS: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'LANGUAGE',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
])

function isRefused({ candidates, promptFeedback }: GeminiResponse): boolean {
  return Boolean(promptFeedback?.blockReason) || REFUSALS.has(candidates?.[0]?.finishReason ?? '')
}

function stopOf(response: GeminiResponse, hasCalls: boolean): Stop {
  const reason = response.candidates?.[0]?.finishReason
  if (isRefused(response)) return 'refused'
  if (reason === 'MAX_TOKENS') return 'length'
  // Every other reason is one for which the answer was broken off, those not known yet included.
  if (reason !== 'STOP' && !isMalformed(response)) return 'cut'
  return hasCalls ? 'calls' : 'done'
}

function usageOf({ usageMetadata }: GeminiResponse): Usage {
  if (!usageMetadata) return NO_USAGE
  const { promptTokenCount = 0, cachedContentTokenCount = 0, toolUsePromptTokenCount = 0 } = usageMetadata
  return {
    inputTokens: promptTokenCount + toolUsePromptTokenCount - cachedContentTokenCount,
    cachedInputTokens: cachedContentTokenCount,
    cacheWriteTokens: 0,
    outputTokens: (usageMetadata.candidatesTokenCount ?? 0) + (usageMetadata.thoughtsTokenCount ?? 0),
  }
}
