import type { Content, FunctionDeclaration, GenerateContentResponse, Part, Tool } from '@google/genai'
import type { Stop } from '../reply.ts'
import { GEMINI_RULES } from '../schema/translate/schema-rules.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { type GeminiResponse, GeminiStreamReader, partsOf } from './gemini-stream.ts'
import { type AnsweredCall, makeDialect, type ReadReply } from './make-dialect.ts'
import { GO_ON, withUserTurns } from './mend-history.ts'
import { readCount, readText } from './read-value.ts'
import { resultParts } from './result-parts.ts'
import { readArguments, replayedName, uniqueIds, type WireCall } from './wire-calls.ts'
import type { WireTools } from './wire-tools.ts'

/** The part of a `generateContent` request that a dialect builds. */
export interface GeminiRequest {
  contents: Content[]
  config: { tools?: Tool[]; systemInstruction?: string }
}

export type { GeminiResponse } from './gemini-stream.ts'

/** The dialect of Gemini, in the types of `@google/genai`. */
export type GeminiDialect = Dialect<Content, GeminiRequest, GeminiResponse, GenerateContentResponse, Tool>

/**
 * Google's Gemini API. It cannot defer, and any change of the tools invalidates the cache, so the surface stays
 * constant and the model calls found tools through `call_tool`.
 */
export function gemini(): GeminiDialect {
  return makeDialect({
    name: 'gemini',
    strategy: 'dispatch',
    rules: GEMINI_RULES,
    limits: { api: 'Gemini', maxTools: 512 },
    toRequest,
    wireCallsOf,
    read,
    lostCallIn: (response) => (isMalformed(response) ? MALFORMED_CALL : undefined),
    toMessages,
    userMessage,
    openStream: () => new GeminiStreamReader(),
  })
}

function toRequest(input: RequestInput<Content, Tool>, tools: WireTools): GeminiRequest {
  const { hostTools = [] } = input
  const functionDeclarations = [...tools.shown, ...tools.deferred].map(
    ({ name, description, parameters }): FunctionDeclaration => ({
      name,
      description,
      parametersJsonSchema: parameters,
    }),
  )
  const hostFunctions = hostTools.flatMap((tool) => tool.functionDeclarations ?? [])
  tools.checkHostNames(hostFunctions.map(({ name }) => name))
  tools.checkCount(functionDeclarations.length + hostFunctions.length)
  const system = systemText(input)
  const all = [...hostTools, ...(functionDeclarations.length === 0 ? [] : [{ functionDeclarations }])]
  return {
    contents: withUserTurns(input.messages, ({ role }) => role === 'model', userMessage(GO_ON)),
    config: {
      ...(all.length === 0 ? {} : { tools: all }),
      ...(system === '' ? {} : { systemInstruction: system }),
    },
  }
}

function userMessage(text: string): Content {
  return { role: 'user', parts: [{ text }] }
}

function read(response: GeminiResponse, hasCalls: boolean): ReadReply {
  const refusal = response.candidates?.[0]?.finishMessage ?? response.promptFeedback?.blockReasonMessage
  const stop = stopOf(response, hasCalls)
  return {
    text: answerOf(response)
      .flatMap((part) => (part.text && !part.thought ? [part.text] : []))
      .join(''),
    stop,
    ...(stop === 'refused' && refusal ? { refusal } : {}),
    usage: usageOf(response),
  }
}

function answerOf(response: GeminiResponse): readonly Part[] {
  return partsOf(response.candidates?.[0])
}

function wireCallsOf(response: GeminiResponse): readonly WireCall[] {
  const calls = answerOf(response).flatMap(({ functionCall }) => (functionCall ? [functionCall] : []))
  const ids = uniqueIds(
    calls.map(({ id }) => id),
    response.responseId,
  )
  return calls.map(({ name, args }, index) => ({
    id: ids[index] ?? '',
    wireName: readText(name),
    args,
  }))
}

function toMessages(response: GeminiResponse, calls: readonly AnsweredCall[]): readonly Content[] {
  if (isRefused(response)) return []
  const parts = answerOf(response)
  // Gemini returns nothing of a malformed call; with this correction the model tries again.
  const correction: Part[] = isMalformed(response) ? [{ text: CORRECTION }] : []
  if (parts.length === 0 && correction.length === 0) return []
  // Every part is replayed unchanged: thought signatures are bound to their positions.
  const replayed = parts.map(replayPart)
  const sent = replayed.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []))
  const reply: Content = {
    role: 'model',
    parts: replayed.length === 0 ? [{ text: '(a function call that could not be parsed)' }] : replayed,
  }
  if (calls.length + correction.length === 0) return [reply]
  return [
    reply,
    {
      role: 'user',
      parts: [
        ...calls.map(({ answer }, index): Part => {
          const { id, name = '' } = sent[index] ?? {}
          return { functionResponse: { ...(id === undefined ? {} : { id }), name, ...responseOf(answer) } }
        }),
        ...correction,
      ],
    },
  ]
}

const CORRECTION =
  'The function call could not be parsed. Call the function again with arguments in valid JSON.'

/** Stands for the call that never arrived, so that call counts include it. */
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
  const { functionCall } = part
  if (!functionCall) return part
  const name = replayedName(readText(functionCall.name))
  const args = readArguments(functionCall.args) ?? {}
  const isSame = name === functionCall.name && args === functionCall.args
  return isSame ? part : { ...part, functionCall: { ...functionCall, name, args } }
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

/** The media types Gemini accepts inline; any other fails the whole request. */
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
  // The provider's own limits: the response is complete, and retrying would end the same way.
  if (reason === 'TOO_MANY_TOOL_CALLS') return hasCalls ? 'calls' : 'length'
  if (reason === 'CONTINUATION') return hasCalls ? 'calls' : 'paused'
  // For any other reason, including unknown ones, the response was cut.
  if (reason !== 'STOP' && !isMalformed(response)) return 'cut'
  return hasCalls ? 'calls' : 'done'
}

function usageOf({ usageMetadata }: GeminiResponse): Usage {
  if (!usageMetadata) return NO_USAGE
  const cached = readCount(usageMetadata.cachedContentTokenCount)
  const input = readCount(usageMetadata.promptTokenCount) + readCount(usageMetadata.toolUsePromptTokenCount)
  return {
    inputTokens: readCount(input - cached),
    cachedInputTokens: cached,
    cacheWriteTokens: 0,
    outputTokens: readCount(usageMetadata.candidatesTokenCount) + readCount(usageMetadata.thoughtsTokenCount),
  }
}
