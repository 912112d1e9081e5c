import type OpenAI from 'openai'
import { readSearchAnswer } from '../meta-tools/search-answer.ts'
import type { Reply, Stop } from '../reply.ts'
import { OPENAI_RULES } from '../schema/translate/schema-rules.ts'
import type { Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, systemText, type Turn } from './dialect.ts'
import { mendNamespaces } from './mend-namespaces.ts'
import { type Namespace, toNamespaces } from './namespaces.ts'
import { ResponseStreamReader } from './response-stream.ts'
import { isImage, resultParts, resultText } from './result-parts.ts'
import { searchNote } from './search-answer.ts'
import { answersTo, CUT_OFF, readCalls, uniqueIds, type WireCall } from './wire-calls.ts'
import { type WireTool, type WireTools, wireToolsBy } from './wire-tools.ts'

type Item = OpenAI.Responses.ResponseInputItem
type Response = OpenAI.Responses.Response
type OutputItem = OpenAI.Responses.ResponseOutputItem

/** The part of a request that the Responses API takes from a dialect. */
export interface ResponsesRequest {
  input: Item[]
  tools: OpenAI.Responses.Tool[]
  instructions?: string
}

/** The dialect of the Responses API, in the types of `openai`. */
export type OpenAiResponsesDialect = Dialect<
  Item,
  ResponsesRequest,
  Response,
  OpenAI.Responses.ResponseStreamEvent
>

/**
 * OpenAI's Responses API. Native deferral with a search the client runs: the request shows `tool_search` and nothing
 * of what is behind it; what it finds goes back as namespaces in a `tool_search_output`, at the end of the context,
 * so activation never touches the cached prefix.
 */
export function openaiResponses(): OpenAiResponsesDialect {
  const wireTools = wireToolsBy(OPENAI_RULES)
  const toReply = (response: Response, surface: Surface): Reply => {
    const tools = wireTools(surface)
    const { calls, unrunnable } = readCalls(wireCallsOf(response, tools), tools)
    const refusal = partsOf(response)
      .flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []))
      .join('')
    return {
      text: partsOf(response)
        .flatMap((part) => (part.type === 'output_text' ? [part.text] : []))
        .join(''),
      calls,
      unrunnable,
      stop: stopOf(response, calls.length + unrunnable.length > 0),
      ...(refusal === '' ? {} : { refusal }),
      ...(response.error ? { error: response.error } : {}),
      usage: usageOf(response.usage),
    }
  }
  return {
    name: 'openai-responses',
    strategy: 'native',
    toRequest: (turn) => toRequest(turn, wireTools(turn.surface)),
    toReply,
    toCalls: (response, surface) => toReply(response, surface).calls,
    toMessages: (response, results, surface) => toMessages(response, results, wireTools(surface)),
    userMessage: (text) => ({ role: 'user', content: text }),
    openStream: () => new ResponseStreamReader(),
    lossesOf: (surface) => wireTools(surface).losses(),
  }
}

function toRequest(turn: Turn<Item>, tools: WireTools): ResponsesRequest {
  const instructions = systemText(turn)
  const { input, missing } = mendNamespaces(turn.messages, {
    shown: new Set(tools.shown.map(({ name }) => name)),
    namespaces: toNamespaces(tools.deferred),
  })
  return {
    tools: [...tools.shown.map((tool) => toTool(tool, tools)), ...missing.map(toNamespaceTool)],
    ...(instructions === '' ? {} : { instructions }),
    input,
  }
}

function toTool(tool: WireTool, tools: WireTools): OpenAI.Responses.Tool {
  // Only what defers needs the provider's own search; otherwise the search is a function like any other.
  const isNativeSearch = tools.deferred.length > 0 && tools.isSearch(tool.name)
  if (!isNativeSearch) return toFunction(tool)
  const { description, parameters } = tool
  return { type: 'tool_search', execution: 'client', description, parameters }
}

function toFunction({ name, description, parameters }: WireTool): OpenAI.Responses.FunctionTool {
  return { type: 'function', name, description, parameters, strict: false }
}

function toNamespaceTool({ name, description, tools }: Namespace): OpenAI.Responses.NamespaceTool {
  return {
    type: 'namespace',
    name,
    description,
    tools: tools.map((tool) => ({ ...toFunction(tool), defer_loading: true })),
  }
}

function partsOf(response: Response) {
  return response.output.flatMap((item) => (item.type === 'message' ? item.content : []))
}

type CallItem = OpenAI.Responses.ResponseFunctionToolCall | OpenAI.Responses.ResponseToolSearchCall

function isCall(item: OutputItem): item is OutputItem & CallItem {
  return item.type === 'function_call' || (item.type === 'tool_search_call' && item.execution === 'client')
}

function wireCallsOf(response: Response, tools: WireTools): readonly WireCall[] {
  const items = response.output.filter(isCall)
  const ids = uniqueIds(
    items.map(({ call_id }) => call_id),
    response.id,
  )
  return items.map((item, index) => ({
    id: ids[index] ?? '',
    wireName: item.type === 'function_call' ? item.name : (tools.searchTool ?? 'tool_search'),
    args: item.arguments,
    fault: item.status === 'incomplete' || item.status === 'in_progress' ? CUT_OFF : undefined,
  }))
}

function toMessages(response: Response, results: readonly CallResult[], tools: WireTools): readonly Item[] {
  if (isRefused(response)) return []
  const wireCalls = wireCallsOf(response, tools)
  let next = 0
  const replayed = withoutLoneReasoning(response.output).map((item): Item => {
    // Half a message was never stored under its id.
    if (item.type === 'message' && item.status === 'incomplete')
      return { role: 'assistant', content: item.content.map(wordsOf).join('') }
    if (!isCall(item)) return item as Item
    const call_id = wireCalls[next++]?.id ?? item.call_id
    // Whole, with its namespace: without it the call would be looked for among the tools that are shown.
    const replayedCall = { ...item, call_id, status: 'completed' } as Item
    if (isWhole(item) || !('id' in replayedCall)) return replayedCall
    // Half a call is not known under its id either, and goes without its reasoning.
    const { id: _, ...call } = replayedCall
    return call as Item
  })
  const answers = answersTo(wireCalls, results, tools)
  const kinds = response.output.filter(isCall).map(({ type }) => type)
  return [
    ...replayed,
    ...answers.flatMap((answer, index) =>
      kinds[index] === 'tool_search_call' ? searchOutput(answer, tools) : [functionOutput(answer)],
    ),
  ]
}

/** Reasoning is refused unless the very item that it led to stands behind it. */
function withoutLoneReasoning(output: readonly OutputItem[]): readonly OutputItem[] {
  let isLed = false
  return output
    .toReversed()
    .filter((item) => {
      if (item.type !== 'reasoning') isLed = isWhole(item)
      return item.type !== 'reasoning' || isLed
    })
    .reverse()
}

function isWhole(item: OutputItem): boolean {
  return !('status' in item) || (item.status !== 'incomplete' && item.status !== 'in_progress')
}

function isRefused(response: Response): boolean {
  const isFiltered = response.incomplete_details?.reason === 'content_filter'
  return isFiltered || partsOf(response).some(({ type }) => type === 'refusal')
}

function wordsOf(part: ReturnType<typeof partsOf>[number]): string {
  return part.type === 'output_text' ? part.text : part.refusal
}

function functionOutput({ toolCallId, result }: CallResult): Item {
  const parts = resultParts(result, isImage)
  const [only, ...others] = parts
  const isText = only?.kind === 'text' && others.length === 0
  return {
    type: 'function_call_output',
    call_id: toolCallId,
    output: isText
      ? only.text
      : parts.map((part) =>
          part.kind === 'text'
            ? { type: 'input_text', text: part.text }
            : { type: 'input_image', detail: 'auto', image_url: `data:${part.mimeType};base64,${part.data}` },
        ),
  }
}

/** What a search found, as definitions; an output has no room for words, so they stand in a message after it. */
function searchOutput({ toolCallId, result }: CallResult, tools: WireTools): Item[] {
  const found = new Set(
    (result.ok ? readSearchAnswer(result.structured).activated : []).map((name) => tools.toWireName(name)),
  )
  const namespaces = toNamespaces(tools.deferred).flatMap((namespace) => {
    const members = namespace.tools.filter(({ name }) => found.has(name))
    return members.length > 0 ? [toNamespaceTool({ ...namespace, tools: members })] : []
  })
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
      : searchNote(result.ok ? result.structured : undefined, tools)
  return words === '' ? [output] : [output, { role: 'developer', content: words }]
}

function stopOf(response: Response, hasCalls: boolean): Stop {
  if (isRefused(response)) return 'refused'
  if (response.incomplete_details?.reason === 'max_output_tokens') return 'length'
  if (response.status !== 'completed' && response.status !== undefined) return 'cut'
  return hasCalls ? 'calls' : 'done'
}

function usageOf(usage: OpenAI.Responses.ResponseUsage | undefined): Usage {
  if (!usage) return NO_USAGE
  const cached = usage.input_tokens_details?.cached_tokens ?? 0
  const written = usage.input_tokens_details?.cache_write_tokens ?? 0
  return {
    inputTokens: usage.input_tokens - cached - written,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: usage.output_tokens,
  }
}
