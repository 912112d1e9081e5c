import type OpenAI from 'openai'
import { checkOptions, numberFrom, objectOf, textList } from '../check-options.ts'
import { hashText, isRecord } from '../json.ts'
import { readSearchAnswer } from '../meta-tools/answer.ts'
import type { Stop } from '../reply.ts'
import { OPENAI_RULES } from '../schema/translate/schema-rules.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { type AnsweredCall, makeDialect, type ReadReply } from './make-dialect.ts'
import { mendInput } from './mend-input.ts'
import { readCount, readText } from './read-value.ts'
import { ResponseStreamReader } from './response-stream.ts'
import { type ResponsesCallers, ResponsesTools } from './responses-tools.ts'
import { isImage, resultParts, resultText } from './result-parts.ts'
import { searchNote } from './search-answer.ts'
import {
  argumentsJson,
  CUT_OFF,
  PLAIN_ID,
  readArguments,
  replayedName,
  uniqueIds,
  type WireCall,
} from './wire-calls.ts'
import type { WireTools } from './wire-tools.ts'

export type { ResponsesCallers } from './responses-tools.ts'

type Item = OpenAI.Responses.ResponseInputItem
type Response = OpenAI.Responses.Response
type OutputItem = OpenAI.Responses.ResponseOutputItem

/** The part of a Responses API request that a dialect builds. */
export interface ResponsesRequest {
  input: Item[]
  tools: OpenAI.Responses.Tool[]
  instructions?: string
  prompt_cache_key?: string
}

/** The dialect of the Responses API, in the types of `openai`. */
export type OpenAiResponsesDialect = Dialect<
  Item,
  ResponsesRequest,
  Response,
  OpenAI.Responses.ResponseStreamEvent,
  OpenAI.Responses.Tool
>

export interface OpenAiResponsesOptions {
  /** Tools that programs written by the model may call, by name. Only the model calls tools that are not listed. */
  readonly allowedCallers?: ResponsesCallers
  /** Maximum tools per request, not counting deferred ones. 128 by default. */
  readonly maxTools?: number
}

/**
 * OpenAI's Responses API, with native deferral and client-side search: the request shows `tool_search` but no
 * deferred tools; matches are returned as namespaces in a `tool_search_output` at the end of the context, so
 * activation never changes the cached prefix. Throws `config-invalid` for an unknown option or value.
 */
export function openaiResponses(options: OpenAiResponsesOptions = {}): OpenAiResponsesDialect {
  checkOptions<OpenAiResponsesOptions>('openaiResponses()', options, {
    allowedCallers: objectOf(textList),
    maxTools: numberFrom(1),
  })
  const { allowedCallers = {}, maxTools = 128 } = options
  return makeDialect({
    name: 'openai-responses',
    strategy: 'native',
    rules: OPENAI_RULES,
    limits: { api: 'the Responses API', maxTools },
    toRequest: (input, tools) => toRequest(input, new ResponsesTools(tools, allowedCallers)),
    wireCallsOf,
    read,
    toMessages: (response, calls, tools) =>
      toMessages(response, calls, new ResponsesTools(tools, allowedCallers)),
    userMessage: (text) => ({ role: 'user', content: text }),
    openStream: () => new ResponseStreamReader(),
  })
}

function toRequest(
  input: RequestInput<Item, OpenAI.Responses.Tool>,
  tools: ResponsesTools,
): ResponsesRequest {
  const { hostTools = [], cacheKey } = input
  const { shown } = tools.wire
  const instructions = systemText(input)
  const mended = mendInput(input.messages, tools)
  tools.checkHostTools(hostTools)
  tools.wire.checkCount(hostTools.length + shown.length + mended.missing.length)
  return {
    tools: [
      ...hostTools,
      ...shown.map((tool) => tools.toTool(tool)),
      ...mended.missing.map((namespace) => tools.toNamespace(namespace)),
    ],
    ...(instructions === '' ? {} : { instructions }),
    ...(cacheKey === undefined ? {} : { prompt_cache_key: boundedKey(cacheKey) }),
    input: mended.input,
  }
}

/** The longest key that the API takes. */
const MAX_CACHE_KEY_CHARS = 64

function boundedKey(cacheKey: string): string {
  return cacheKey.length > MAX_CACHE_KEY_CHARS ? hashText(cacheKey) : cacheKey
}

function read(response: Response, hasCalls: boolean): ReadReply {
  const parts = partsOf(response)
  const refusal = parts.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : [])).join('')
  return {
    text: parts.flatMap((part) => (part.type === 'output_text' ? [part.text] : [])).join(''),
    stop: stopOf(response, hasCalls),
    ...(refusal === '' ? {} : { refusal }),
    ...(response.error ? { error: response.error } : {}),
    usage: usageOf(response.usage),
  }
}

/** The readable items of a response. */
function itemsOf({ output }: Response): readonly OutputItem[] {
  return Array.isArray(output) ? output.filter(isRecord).map((item) => item as unknown as OutputItem) : []
}

type MessagePart = OpenAI.Responses.ResponseOutputMessage['content'][number]

function partsOf(response: Response): readonly MessagePart[] {
  return itemsOf(response).flatMap((item) => (item.type === 'message' ? readableParts(item.content) : []))
}

function readableParts(content: unknown): MessagePart[] {
  return (Array.isArray(content) ? content : []).filter(
    (part: unknown) =>
      isRecord(part) && typeof (part.type === 'refusal' ? part.refusal : part.text) === 'string',
  )
}

type CallItem = OpenAI.Responses.ResponseFunctionToolCall | OpenAI.Responses.ResponseToolSearchCall

function isCall(item: OutputItem): item is OutputItem & CallItem {
  return item.type === 'function_call' || (item.type === 'tool_search_call' && item.execution === 'client')
}

function wireCallsOf(response: Response, tools: WireTools): readonly WireCall[] {
  const items = itemsOf(response).filter(isCall)
  const ids = uniqueIds(
    items.map(({ call_id }) => call_id),
    response.id,
    PLAIN_ID,
  )
  return items.map((item, index) => ({
    id: ids[index] ?? '',
    wireName: item.type === 'function_call' ? readText(item.name) : (tools.searchTool ?? 'tool_search'),
    args: item.arguments,
    fault: item.status === 'incomplete' || item.status === 'in_progress' ? CUT_OFF : undefined,
  }))
}

function toMessages(
  response: Response,
  calls: readonly AnsweredCall[],
  tools: ResponsesTools,
): readonly Item[] {
  if (isRefused(response)) return []
  let next = 0
  const replayed = withoutLoneReasoning(itemsOf(response)).flatMap((item): Item[] => {
    // A partial message was never stored under its id.
    if (item.type === 'message' && !isWhole(item)) {
      const words = readableParts(item.content).map(wordsOf).join('')
      return words === '' ? [] : [{ role: 'assistant', content: words }]
    }
    return [isCall(item) ? replayedCall(item, calls[next++]) : (item as Item)]
  })
  const asked = itemsOf(response).filter(isCall)
  return [
    ...replayed,
    ...calls.flatMap(({ answer }, index) => {
      const call = asked[index]
      if (call?.type === 'tool_search_call') return searchOutput(answer, tools)
      return [functionOutput(answer, call?.caller)]
    }),
  ]
}

/** The whole call with its namespace; without it, the API would look for the call among the shown tools. */
function replayedCall(item: OutputItem & CallItem, wireCall: WireCall | undefined): Item {
  const { id, wireName, args } = wireCall ?? { id: item.call_id ?? '', wireName: '', args: {} }
  const call = {
    ...item,
    call_id: id,
    status: 'completed',
    ...(item.type === 'function_call'
      ? { name: replayedName(wireName), arguments: argumentsJson(args) }
      : { arguments: readArguments(args) ?? {} }),
  } as Item
  if (isWhole(item) || !('id' in call)) return call
  // A partial call was not stored under its id either, and is replayed without its reasoning.
  const { id: _, ...rest } = call
  return rest as Item
}

/** The API rejects reasoning unless the item it led to follows it. */
function withoutLoneReasoning(output: readonly OutputItem[]): readonly OutputItem[] {
  let isLed = false
  return output
    .toReversed()
    .filter((item) => {
      if (item.type !== 'reasoning') isLed = isWhole(item) && 'id' in item
      return item.type !== 'reasoning' || isLed
    })
    .reverse()
}

function isWhole(item: OutputItem): boolean {
  if (item.type === 'message') return item.status === 'completed' && Array.isArray(item.content)
  return !('status' in item) || (item.status !== 'incomplete' && item.status !== 'in_progress')
}

function isRefused(response: Response): boolean {
  const isFiltered = response.incomplete_details?.reason === 'content_filter'
  return isFiltered || partsOf(response).some(({ type }) => type === 'refusal')
}

function wordsOf(part: MessagePart): string {
  return part.type === 'output_text' ? part.text : part.refusal
}

/** Programs wait for results under their own id. */
type Caller = OpenAI.Responses.ResponseFunctionToolCall['caller']

function functionOutput({ toolCallId, result }: CallResult, caller: Caller): Item {
  const parts = resultParts(result, isImage)
  const [only, ...others] = parts
  const isText = only?.kind === 'text' && others.length === 0
  return {
    type: 'function_call_output',
    call_id: toolCallId,
    ...(caller && caller.type !== 'direct' ? { caller } : {}),
    output: isText
      ? only.text
      : parts.map((part) =>
          part.kind === 'text'
            ? { type: 'input_text', text: part.text }
            : { type: 'input_image', detail: 'auto', image_url: `data:${part.mimeType};base64,${part.data}` },
        ),
  }
}

/** A search's matches as definitions. The output has no room for text, so notes follow in a separate message. */
function searchOutput({ toolCallId, result, untrusted }: CallResult, tools: ResponsesTools): Item[] {
  const { wire } = tools
  const found = new Set(
    (result.ok ? readSearchAnswer(result.structured).activated : []).map((name) => wire.toWireName(name)),
  )
  const homes = new Set([...found].flatMap((name) => tools.namespaces.homeOf(name) ?? []))
  const namespaces = tools.namespaces.all
    .filter((namespace) => homes.has(namespace))
    .map((home) => tools.toNamespace({ ...home, tools: home.tools.filter(({ name }) => found.has(name)) }))
  const output: Item = {
    type: 'tool_search_output',
    execution: 'client',
    call_id: toolCallId,
    status: 'completed',
    tools: namespaces,
  }
  const words =
    namespaces.length === 0
      ? `Result of the tool search: ${resultText(result)}`
      : [untrusted?.note ?? '', searchNote(result.ok ? result.structured : undefined, wire)]
          .filter((text) => text !== '')
          .join('\n\n')
  return words === '' ? [output] : [output, { role: 'developer', content: words }]
}

function stopOf(response: Response, hasCalls: boolean): Stop {
  if (isRefused(response)) return 'refused'
  const reason: string | undefined = response.incomplete_details?.reason
  if (reason === 'max_output_tokens') return 'length'
  // These reasons end a response between two items, so every call is complete.
  if (reason === 'max_messages') return hasCalls ? 'calls' : 'length'
  if (reason === 'steered') return hasCalls ? 'calls' : 'paused'
  if (response.status !== 'completed' && response.status !== undefined) return 'cut'
  return hasCalls ? 'calls' : 'done'
}

function usageOf(usage: OpenAI.Responses.ResponseUsage | undefined): Usage {
  if (!usage) return NO_USAGE
  const cached = readCount(usage.input_tokens_details?.cached_tokens)
  const written = readCount(usage.input_tokens_details?.cache_write_tokens)
  return {
    inputTokens: readCount(readCount(usage.input_tokens) - cached - written),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: readCount(usage.output_tokens),
  }
}
