import type OpenAI from 'openai'
import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Reply, Stop } from '../reply.ts'
import { COMPATIBLE_RULES } from '../schema/translate/schema-rules.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { ChatStreamReader } from './chat-stream.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { isImage, resultParts } from './result-parts.ts'
import { answersTo, CUT_OFF, readArguments, readCalls, uniqueIds, type WireCall } from './wire-calls.ts'
import { type WireTools, wireToolsBy } from './wire-tools.ts'

type Message = OpenAI.ChatCompletionMessageParam
type AssistantMessage = OpenAI.ChatCompletionAssistantMessageParam

/** The part of a request that Chat Completions takes from a dialect. */
export interface ChatRequest {
  messages: Message[]
  /** Absent when there are none: an empty list is refused. */
  tools?: OpenAI.ChatCompletionFunctionTool[]
}

/** The dialect of Chat Completions, in the types of `openai`. */
export type OpenAiChatDialect = Dialect<
  Message,
  ChatRequest,
  OpenAI.ChatCompletion,
  OpenAI.ChatCompletionChunk
>

/** What a server that speaks Chat Completions takes. */
export interface OpenAiChatOptions {
  /** How many tools a request may have; 128, as OpenAI has it. */
  readonly maxTools?: number
}

/**
 * OpenAI's Chat Completions, and every server that speaks it: Ollama, vLLM, OpenRouter, DeepSeek and others. They
 * cannot defer, so the surface stays constant and found tools are called through `call_tool`. Schemas keep to what
 * the poorest of them understands.
 */
export function openaiChat({ maxTools = 128 }: OpenAiChatOptions = {}): OpenAiChatDialect {
  const wireTools = wireToolsBy(COMPATIBLE_RULES)
  const toReply = (response: OpenAI.ChatCompletion, surface: Surface): Reply => {
    const choice = choiceOf(response)
    const { calls, unrunnable } = readCalls(wireCallsOf(response), wireTools(surface))
    const error = errorOf(response)
    return {
      text: choice?.message.content ?? '',
      calls,
      unrunnable,
      stop: error ? 'cut' : stopOf(choice, calls.length + unrunnable.length > 0),
      ...(choice?.message.refusal ? { refusal: choice.message.refusal } : {}),
      ...(error ? { error } : {}),
      usage: usageOf(response.usage),
    }
  }
  return {
    name: 'openai-chat',
    strategy: 'dispatch',
    toRequest: (input) => toRequest(input, wireTools(input.surface), maxTools),
    toReply,
    toCalls: (response, surface) => toReply(response, surface).calls,
    toMessages: (response, results, surface) => toMessages(response, results, wireTools(surface)),
    userMessage: (text) => ({ role: 'user', content: text }),
    openStream: () => new ChatStreamReader(),
    lossesOf: (surface) => wireTools(surface).losses(),
  }
}

function toRequest(
  input: RequestInput<Message>,
  { shown, deferred }: WireTools,
  maxTools: number,
): ChatRequest {
  // A surface made for another dialect may hold tools back; here they can only be shown.
  const tools = [...shown, ...deferred]
  if (tools.length > maxTools) {
    throw new ToolcribError(
      'config-invalid',
      `the surface has ${tools.length} tools and a request takes ${maxTools}; open the session with mode "lazy", or pin fewer tools`,
    )
  }
  const system = systemText(input)
  return {
    messages: [...(system === '' ? [] : [{ role: 'system', content: system } as const]), ...input.messages],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, parameters }) => ({
            type: 'function',
            function: { name, description, parameters },
          })),
        }),
  }
}

/** Servers that fail after they have begun answer with an error and without choices, whatever the types say. */
function choiceOf(response: OpenAI.ChatCompletion): OpenAI.ChatCompletion.Choice | undefined {
  const choice = response.choices?.[0]
  return choice?.message ? choice : undefined
}

function errorOf(response: object): Reply['error'] {
  if (!('error' in response) || !response.error) return undefined
  const { error } = response
  if (!isRecord(error)) return { message: String(error) }
  const { code, message } = error
  return {
    message: typeof message === 'string' ? message : JSON.stringify(error),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
  }
}

function wireCallsOf(response: OpenAI.ChatCompletion): readonly WireCall[] {
  const choice = choiceOf(response)
  const toolCalls = choice?.message.tool_calls ?? []
  const ids = uniqueIds(
    toolCalls.map(({ id }) => id),
    `${response.id} ${response.created}`,
  )
  const isLimited = choice?.finish_reason === 'length'
  return toolCalls.map((call, index) => ({
    id: ids[index] ?? call.id,
    wireName: call.type === 'custom' ? call.custom.name : call.function.name,
    args: call.type === 'custom' ? call.custom.input : call.function.arguments,
    fault: isLimited && index === toolCalls.length - 1 ? CUT_OFF : undefined,
  }))
}

function toMessages(
  response: OpenAI.ChatCompletion,
  results: readonly CallResult[],
  tools: WireTools,
): readonly Message[] {
  const choice = choiceOf(response)
  if (!choice || isRefused(choice)) return []
  const wireCalls = wireCallsOf(response)
  const answers = answersTo(wireCalls, results, tools)
  const images = answers.flatMap(imagesOf)
  return [
    ...replay(choice.message, wireCalls),
    ...answers.map(
      (answer): Message => ({
        role: 'tool',
        tool_call_id: answer.toolCallId,
        content: textOf(answer),
      }),
    ),
    // Tool messages hold text only; pictures follow as a message of their own.
    ...(images.length > 0 ? [{ role: 'user', content: images } as const] : []),
  ]
}

/** The answer as it came, reasoning and all, with calls that can be sent back. */
function replay(message: OpenAI.ChatCompletionMessage, wireCalls: readonly WireCall[]): AssistantMessage[] {
  const { tool_calls, annotations: _, ...rest } = message
  const hasContent = Boolean(message.content || message.refusal)
  if (wireCalls.length === 0) return hasContent ? [toAssistant(rest)] : []
  const calls = wireCalls.map(({ id, wireName, args }) => ({
    id,
    type: 'function' as const,
    function: { name: wireName, arguments: JSON.stringify(readArguments(args) ?? {}) },
  }))
  const asSent = (tool_calls ?? []).map((call, index) => {
    const replayed = calls[index]
    const isSound =
      call.type === 'function' &&
      call.id === replayed?.id &&
      readArguments(call.function.arguments) !== undefined
    if (isSound || !replayed) return call
    // What servers add to a call, such as a thought's signature, goes back with it.
    return call.type === 'custom' ? replayed : { ...call, ...replayed }
  })
  return [{ ...toAssistant(rest), tool_calls: asSent }]
}

/** Fields that servers add (`reasoning_content`, `reasoning_details`) go back with the rest: some models need them. */
function toAssistant(
  message: Omit<OpenAI.ChatCompletionMessage, 'tool_calls' | 'annotations'>,
): AssistantMessage {
  const { audio, function_call: _, refusal, ...rest } = message
  return {
    ...rest,
    ...(refusal ? { refusal } : {}),
    ...(audio ? { audio: { id: audio.id } } : {}),
  }
}

function textOf({ result }: CallResult): string {
  const parts = resultParts(result, isImage)
  const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
  const count = parts.filter(({ kind }) => kind === 'media').length
  return count === 0
    ? text
    : [text, `(${count} image${count > 1 ? 's' : ''} below)`].filter(Boolean).join('\n')
}

function imagesOf({ result, name }: CallResult): OpenAI.ChatCompletionContentPart[] {
  const media = resultParts(result, isImage).filter((part) => part.kind === 'media')
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
  // A stream that was cut has no reason to give, whatever the types say.
  if (!choice?.finish_reason) return 'cut'
  if (isRefused(choice)) return 'refused'
  // Not a reason of OpenAI's own, but of servers that broke off.
  if (String(choice.finish_reason) === 'error') return 'cut'
  if (choice.finish_reason === 'length') return 'length'
  return hasCalls ? 'calls' : 'done'
}

function isRefused({ message, finish_reason }: OpenAI.ChatCompletion.Choice): boolean {
  return Boolean(message.refusal) || finish_reason === 'content_filter'
}

/** DeepSeek's own word for what was read from the cache. */
type ServerUsage = OpenAI.CompletionUsage & { readonly prompt_cache_hit_tokens?: number }

function usageOf(usage: ServerUsage | undefined | null): Usage {
  if (!usage) return NO_USAGE
  const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0
  const written = usage.prompt_tokens_details?.cache_write_tokens ?? 0
  return {
    inputTokens: usage.prompt_tokens - cached - written,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: usage.completion_tokens,
  }
}
