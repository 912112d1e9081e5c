import type Anthropic from '@anthropic-ai/sdk'
import { isRecord } from '../json.ts'
import { readSearchAnswer } from '../meta-tools/search-answer.ts'
import type { Reply, Stop } from '../reply.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, systemText, type Turn } from './dialect.ts'
import { MessageStreamReader } from './message-stream.ts'
import { isImage, resultParts } from './result-parts.ts'
import { searchNote } from './search-answer.ts'
import { answersTo, CUT_OFF, readArguments, readCalls, uniqueIds, type WireCall } from './wire-calls.ts'
import { type WireTool, type WireTools, wireToolsBy } from './wire-tools.ts'

/** The part of a request that the Messages API takes from a dialect. */
export interface MessagesRequest {
  tools: Anthropic.Tool[]
  messages: Anthropic.MessageParam[]
  system?: Anthropic.TextBlockParam[]
  cache_control?: Anthropic.CacheControlEphemeral
}

/** A dialect of the Messages API, in the types of `@anthropic-ai/sdk`. */
export type MessagesDialect = Dialect<
  Anthropic.MessageParam,
  MessagesRequest,
  Anthropic.Message,
  Anthropic.RawMessageStreamEvent
>

/** What tells one dialect of the Messages API from another. */
export interface MessagesDialectOptions {
  readonly name: string
  readonly strategy: Strategy
  readonly rules: SchemaRules
  /** How long cached prefixes live; false writes no cache marks. */
  readonly cache: '5m' | '1h' | false
  /** Whether one mark on the request keeps the growing messages cached. */
  readonly hasRequestMark: boolean
}

/** The Messages API, which Anthropic and others speak. */
export function messagesDialect(options: MessagesDialectOptions): MessagesDialect {
  const { name, strategy, rules, cache, hasRequestMark } = options
  const wireTools = wireToolsBy(rules)
  const cacheControl: Anthropic.CacheControlEphemeral | undefined =
    cache === false ? undefined : { type: 'ephemeral', ...(cache === '1h' ? { ttl: '1h' } : {}) }
  const toReply = (response: Anthropic.Message, surface: Surface): Reply => {
    const { calls, unrunnable } = readCalls(wireCallsOf(response), wireTools(surface))
    return {
      text: response.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
      calls,
      unrunnable,
      stop: stopOf(response, calls.length + unrunnable.length > 0),
      ...(response.stop_details?.explanation ? { refusal: response.stop_details.explanation } : {}),
      usage: usageOf(response.usage),
    }
  }
  return {
    name,
    strategy,
    toRequest: (turn) => ({
      ...toRequest(turn, wireTools(turn.surface), cacheControl),
      ...(cacheControl && hasRequestMark ? { cache_control: cacheControl } : {}),
    }),
    toReply,
    toCalls: (response, surface) => toReply(response, surface).calls,
    toMessages: (response, results, surface) => toMessages(response, results, wireTools(surface)),
    userMessage: (text) => ({ role: 'user', content: text }),
    openStream: () => new MessageStreamReader(),
    lossesOf: (surface) => wireTools(surface).losses(),
  }
}

function toRequest(
  turn: Turn<Anthropic.MessageParam>,
  tools: WireTools,
  cacheControl: Anthropic.CacheControlEphemeral | undefined,
): MessagesRequest {
  const system = systemText(turn)
  const mark = cacheControl ? { cache_control: cacheControl } : {}
  const marked = system === '' ? lastLasting(turn.surface, tools) : undefined
  return {
    tools: [
      // The end of what never changes is marked: the system prompt, or else the last tool that stays the last.
      ...tools.shown.map((tool) => (tool.name === marked ? { ...toTool(tool), ...mark } : toTool(tool))),
      ...tools.deferred.map((tool) => ({ ...toTool(tool), defer_loading: true })),
    ],
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...mark }] }),
    messages: withoutDanglingReferences(turn.messages, tools),
  }
}

/** The last tool behind which nothing is put on activation: a mark that moved would change the bytes it stood in. */
function lastLasting({ strategy, deferredCount }: Surface, tools: WireTools): string | undefined {
  if (strategy === 'append' && tools.searchTool !== undefined) return tools.toWireName(tools.searchTool)
  if (strategy === 'append' && deferredCount > 0) return undefined
  return tools.shown.at(-1)?.name
}

function toTool({ name, description, parameters }: WireTool): Anthropic.Tool {
  return { name, description, input_schema: parameters }
}

/** A reference to a tool that is gone would fail every request from here on; it is told of instead. */
function withoutDanglingReferences(
  messages: readonly Anthropic.MessageParam[],
  tools: WireTools,
): Anthropic.MessageParam[] {
  const defined = new Set([...tools.shown, ...tools.deferred].map(({ name }) => name))
  return messages.map((message) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message
    const content = message.content.map((block) => mendReferences(block, defined))
    return content.every((block, index) => block === message.content[index])
      ? message
      : { ...message, content }
  })
}

function mendReferences(
  block: Anthropic.ContentBlockParam,
  defined: ReadonlySet<string>,
): Anthropic.ContentBlockParam {
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return block
  const gone: string[] = []
  const kept = block.content.filter((part) => {
    if (part.type !== 'tool_reference' || defined.has(part.tool_name)) return true
    gone.push(part.tool_name)
    return false
  })
  if (gone.length === 0) return block
  if (kept.length > 0) return { ...block, content: kept }
  return { ...block, content: `No longer available: ${gone.join(', ')}. Search again for what you need.` }
}

function wireCallsOf(response: Anthropic.Message): readonly WireCall[] {
  const blocks = response.content.filter((block) => block.type === 'tool_use')
  const ids = uniqueIds(
    blocks.map(({ id }) => id),
    response.id,
  )
  const isLimited =
    response.stop_reason === 'max_tokens' || response.stop_reason === 'model_context_window_exceeded'
  return blocks.map((block, index) => ({
    id: ids[index] ?? block.id,
    wireName: block.name,
    args: block.input,
    // What the limit cut off may still look whole: half a list is a list.
    fault: isLimited && block === response.content.at(-1) ? CUT_OFF : undefined,
  }))
}

function toMessages(
  response: Anthropic.Message,
  results: readonly CallResult[],
  tools: WireTools,
): readonly Anthropic.MessageParam[] {
  const wireCalls = wireCallsOf(response)
  // A refused answer must not be replayed: the model would refuse again.
  if (response.stop_reason === 'refusal') return []
  let next = 0
  const content = replayable(response.content).map((block): Anthropic.ContentBlockParam => {
    if (block.type !== 'tool_use') return block
    const id = wireCalls[next++]?.id ?? block.id
    const input = isRecord(block.input) ? block.input : (readArguments(block.input) ?? {})
    return input === block.input && id === block.id ? block : { ...block, id, input }
  })
  if (content.length === 0) return []
  const reply: Anthropic.MessageParam = { role: 'assistant', content }
  if (wireCalls.length === 0) return [reply]
  const answers = answersTo(wireCalls, results, tools)
  const blocks = answers.map((answer) => toResultBlock(answer, tools))
  const notes = answers.flatMap((answer, index) =>
    hasReferences(blocks[index]) ? noteOf(answer, tools) : [],
  )
  return [reply, { role: 'user', content: [...blocks, ...notes] }]
}

/** Blocks that may be sent back: no blank text, and nothing that ends in thinking. */
function replayable(content: readonly Anthropic.ContentBlock[]): readonly Anthropic.ContentBlock[] {
  const said = content.filter((block) => block.type !== 'text' || block.text.trim() !== '')
  const last = said.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  return said.slice(0, last + 1)
}

function hasReferences(block: Anthropic.ToolResultBlockParam | undefined): boolean {
  return Array.isArray(block?.content) && block.content.some(({ type }) => type === 'tool_reference')
}

/** What a search said besides its references stands after the results, since no text may stand among them. */
function noteOf({ result }: CallResult, tools: WireTools): Anthropic.TextBlockParam[] {
  const note = result.ok ? searchNote(result.structured, tools) : ''
  return note === '' ? [] : [{ type: 'text', text: note }]
}

function toResultBlock(
  { toolCallId, name, result }: CallResult,
  tools: WireTools,
): Anthropic.ToolResultBlockParam {
  const base = { type: 'tool_result', tool_use_id: toolCallId } as const
  const references = result.ok && tools.isSearch(name) ? referencesTo(result.structured, tools) : []
  // References stand alone: the provider puts the definitions in their place.
  if (references.length > 0) return { ...base, content: references }
  return {
    ...base,
    content: resultParts(result, (mimeType) => isImage(mimeType) || mimeType === 'application/pdf').map(
      toBlock,
    ),
    ...(result.ok ? {} : { is_error: true }),
  }
}

function referencesTo(structured: unknown, tools: WireTools): Anthropic.ToolReferenceBlockParam[] {
  const deferred = new Set(tools.deferred.map(({ name }) => name))
  const found = readSearchAnswer(structured).activated.map((name) => tools.toWireName(name))
  return [...new Set(found)]
    .filter((name) => deferred.has(name))
    .map((name) => ({ type: 'tool_reference', tool_name: name }))
}

function toBlock(
  part: ReturnType<typeof resultParts>[number],
): Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam {
  // Empty text blocks are refused.
  if (part.kind === 'text') return { type: 'text', text: part.text === '' ? '(no output)' : part.text }
  const { mimeType, data } = part
  if (mimeType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: mimeType, data } }
  return { type: 'image', source: { type: 'base64', media_type: mimeType as ImageType, data } }
}

type ImageType = Anthropic.Base64ImageSource['media_type']

function stopOf({ stop_reason }: Anthropic.Message, hasCalls: boolean): Stop {
  if (stop_reason === null) return 'cut'
  if (stop_reason === 'refusal') return 'refused'
  if (stop_reason === 'pause_turn') return 'paused'
  if (stop_reason === 'max_tokens' || stop_reason === 'model_context_window_exceeded') return 'length'
  return hasCalls ? 'calls' : 'done'
}

function usageOf(usage: Anthropic.Usage | undefined): Usage {
  if (!usage) return NO_USAGE
  return {
    inputTokens: usage.input_tokens ?? 0,
    cachedInputTokens: usage.cache_read_input_tokens ?? 0,
    cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
  }
}
