import type OpenAI from 'openai'
import { checkOptions, numberFrom, trueOrFalse } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { Reply, Stop } from '../reply.ts'
import { COMPATIBLE_RULES } from '../schema/translate/schema-rules.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { hasContent, textOfContent, withoutOutputFields } from './chat-content.ts'
import { ChatStreamReader } from './chat-stream.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { type AnsweredCall, makeDialect, type ReadReply } from './make-dialect.ts'
import { mendChat } from './mend-chat.ts'
import { readCount, readText } from './read-value.ts'
import { isImage, type ResultPart, resultParts } from './result-parts.ts'
import { argumentsJson, CUT_OFF, replayedName, uniqueIds, type WireCall } from './wire-calls.ts'
import type { WireTools } from './wire-tools.ts'

type Message = OpenAI.ChatCompletionMessageParam
type AssistantMessage = OpenAI.ChatCompletionAssistantMessageParam

/** The part of a Chat Completions request that a dialect builds. */
export interface ChatRequest {
  messages: Message[]
  /** Absent when there are none: servers reject an empty list. */
  tools?: OpenAI.ChatCompletionFunctionTool[]
}

/** The dialect of Chat Completions, in the types of `openai`. */
export type OpenAiChatDialect = Dialect<
  Message,
  ChatRequest,
  OpenAI.ChatCompletion,
  OpenAI.ChatCompletionChunk,
  OpenAI.ChatCompletionFunctionTool
>

/** Limits of a Chat Completions server. The defaults are OpenAI's own. */
export interface OpenAiChatOptions {
  /** Maximum tools per request. 128 by default. */
  readonly maxTools?: number
  /** Maximum length of a tool's description, in characters. 1,024 by default. */
  readonly maxDescriptionChars?: number
  /** Whether the model takes images. Without, those in results are only mentioned. True by default. */
  readonly images?: boolean
}

/**
 * OpenAI's Chat Completions, and every compatible server: Ollama, vLLM, OpenRouter, DeepSeek and others. They cannot
 * defer, so the surface stays constant and the model calls found tools through `call_tool`. Schemas use only what all
 * of these servers support. Throws `config-invalid` for an unknown option or value.
 */
export function openaiChat(options: OpenAiChatOptions = {}): OpenAiChatDialect {
  checkOptions<OpenAiChatOptions>('openaiChat()', options, {
    maxTools: numberFrom(1),
    maxDescriptionChars: numberFrom(1),
    images: trueOrFalse,
  })
  const { maxTools = 128, maxDescriptionChars = 1_024, images = true } = options
  const canShow = images ? isImage : () => false
  return makeDialect({
    name: 'openai-chat',
    strategy: 'dispatch',
    rules: COMPATIBLE_RULES,
    limits: { api: 'Chat Completions', maxTools, maxDescriptionChars },
    toRequest,
    wireCallsOf,
    read,
    toMessages: (response, calls) => toMessages(response, calls, canShow),
    userMessage,
    openStream: () => new ChatStreamReader(),
  })
}

function toRequest(
  input: RequestInput<Message, OpenAI.ChatCompletionFunctionTool>,
  wireTools: WireTools,
): ChatRequest {
  wireTools.checkHostNames((input.hostTools ?? []).map((tool) => tool.function.name))
  // A surface made for another dialect may have deferred tools; here they must be shown.
  const tools = [
    ...(input.hostTools ?? []),
    ...[...wireTools.shown, ...wireTools.deferred].map(
      ({ name, description, parameters }): OpenAI.ChatCompletionFunctionTool => ({
        type: 'function',
        function: { name, description, parameters },
      }),
    ),
  ]
  wireTools.checkCount(tools.length)
  const system = systemText(input, wireTools.searchOverflow)
  return {
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
      ...mendChat(input.messages),
    ],
    ...(tools.length === 0 ? {} : { tools }),
  }
}

function userMessage(text: string): Message {
  return { role: 'user', content: text }
}

function read(response: OpenAI.ChatCompletion, hasCalls: boolean): ReadReply {
  const choice = choiceOf(response)
  const error = errorOf(response)
  const refusal = choice?.message.refusal
  return {
    text: textOfContent(choice?.message.content),
    stop: error ? 'cut' : stopOf(choice, hasCalls),
    ...(typeof refusal === 'string' && refusal !== '' ? { refusal } : {}),
    ...(error ? { error } : {}),
    usage: usageOf(response.usage),
  }
}

/** Servers that fail midway return an error without choices, contrary to the types. */
function choiceOf(response: OpenAI.ChatCompletion): OpenAI.ChatCompletion.Choice | undefined {
  const choice = response.choices?.[0]
  return isRecord(choice?.message) ? choice : undefined
}

function errorOf(response: object): Reply['error'] {
  if (!('error' in response) || !response.error) return undefined
  const { error } = response
  if (!isRecord(error)) return { message: typeof error === 'string' ? error : JSON.stringify(error) }
  const { code, message } = error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(error),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
  }
}

/** The calls of a response; entries of any other kind are ignored. */
function toolCallsOf(
  choice: OpenAI.ChatCompletion.Choice | undefined,
): OpenAI.ChatCompletionMessageToolCall[] {
  const calls: unknown = choice?.message.tool_calls
  return Array.isArray(calls) ? calls.filter(isRecord).map((call) => call as never) : []
}

function wireCallsOf(response: OpenAI.ChatCompletion): readonly WireCall[] {
  const choice = choiceOf(response)
  const toolCalls = toolCallsOf(choice)
  const ids = uniqueIds(
    toolCalls.map(({ id }) => id),
    JSON.stringify([response.id, response.created]),
  )
  const isLimited = choice?.finish_reason === 'length'
  return toolCalls.map((call, index) => ({
    id: ids[index] ?? '',
    wireName: readText(call.type === 'custom' ? call.custom?.name : call.function?.name),
    args: call.type === 'custom' ? call.custom?.input : call.function?.arguments,
    fault: isLimited && index === toolCalls.length - 1 ? CUT_OFF : undefined,
  }))
}

function toMessages(
  response: OpenAI.ChatCompletion,
  calls: readonly AnsweredCall[],
  canShow: (mimeType: string) => boolean,
): readonly Message[] {
  const choice = choiceOf(response)
  if (!choice || isRefused(choice)) return []
  const answers = calls.map(({ answer }) => ({
    toolCallId: answer.toolCallId,
    name: answer.name,
    parts: resultParts(answer.result, canShow),
  }))
  const images = answers.flatMap(imagesOf)
  return [
    ...replay(choice, calls),
    ...answers.map(
      (answer): Message => ({
        role: 'tool',
        tool_call_id: answer.toolCallId,
        content: textOf(answer),
      }),
    ),
    // Tool messages contain only text; images follow in a separate message.
    ...(images.length > 0 ? [{ role: 'user', content: images } as const] : []),
  ]
}

/** The answer as received, including reasoning, with calls that can be sent back. */
function replay(choice: OpenAI.ChatCompletion.Choice, wireCalls: readonly WireCall[]): AssistantMessage[] {
  const { tool_calls: _, annotations: __, ...rest } = choice.message
  if (wireCalls.length === 0) return hasContent(rest.content) ? [toAssistant(rest)] : []
  const sent = toolCallsOf(choice)
  const calls = wireCalls.map(({ id, wireName, args }, index) => {
    const call = sent[index]
    const replayed = {
      id,
      type: 'function' as const,
      function: { name: replayedName(wireName), arguments: argumentsJson(args) },
    }
    // Fields that servers add to a call, such as a thought signature, are replayed.
    return call?.type === 'custom'
      ? replayed
      : { ...call, ...replayed, function: { ...call?.function, ...replayed.function } }
  })
  return [{ ...toAssistant(rest), tool_calls: calls }]
}

/** Fields that servers add (`reasoning_content`, `reasoning_details`) are replayed, since some models need them. */
function toAssistant(
  message: Omit<OpenAI.ChatCompletionMessage, 'tool_calls' | 'annotations'>,
): AssistantMessage {
  const { audio, function_call: _, refusal: __, content, ...rest } = withoutOutputFields(message)
  return {
    ...rest,
    role: 'assistant',
    content: hasContent(content) ? content : null,
    ...(isRecord(audio) && typeof audio.id === 'string' ? { audio: { id: audio.id } } : {}),
  }
}

interface Answer {
  readonly name: string
  readonly parts: readonly ResultPart[]
}

function textOf({ parts }: Answer): string {
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
  const count = parts.filter(({ kind }) => kind === 'media').length
  return count === 0
    ? text
    : [text, `(${count} image${count > 1 ? 's' : ''} below)`].filter(Boolean).join('\n')
}

function imagesOf({ parts, name }: Answer): OpenAI.ChatCompletionContentPart[] {
  const media = parts.filter((part) => part.kind === 'media')
  if (media.length === 0) return []
  return [
    { type: 'text', text: `From ${name}:` },
    ...media.map(
      ({ mimeType, data }): OpenAI.ChatCompletionContentPart => ({
        type: 'image_url',
        image_url: { url: `data:${mimeType};base64,${data}` },
      }),
    ),
  ]
}

function stopOf(choice: OpenAI.ChatCompletion.Choice | undefined, hasCalls: boolean): Stop {
  // A cut stream has no finish reason, contrary to the types.
  if (!choice?.finish_reason) return 'cut'
  if (isRefused(choice)) return 'refused'
  // Not one of OpenAI's reasons; servers that abort send it.
  if ((choice.finish_reason as unknown) === 'error') return 'cut'
  if (choice.finish_reason === 'length') return 'length'
  return hasCalls ? 'calls' : 'done'
}

function isRefused({ message, finish_reason }: OpenAI.ChatCompletion.Choice): boolean {
  return Boolean(message.refusal) || finish_reason === 'content_filter'
}

/** DeepSeek's own field for tokens read from the cache. */
type ServerUsage = OpenAI.CompletionUsage & { readonly prompt_cache_hit_tokens?: number }

function usageOf(usage: ServerUsage | undefined | null): Usage {
  if (!usage) return NO_USAGE
  const cached = readCount(usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens)
  const written = readCount(usage.prompt_tokens_details?.cache_write_tokens)
  return {
    inputTokens: readCount(readCount(usage.prompt_tokens) - cached - written),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: readCount(usage.completion_tokens),
  }
}
