import type Anthropic from '@anthropic-ai/sdk'
import { isRecord } from '../json.ts'
import type { Reply, Stop } from '../reply.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { makeDialect } from './make-dialect.ts'
import { mendMessages } from './mend-messages.ts'
import { MessageStreamReader } from './message-stream.ts'
import { readCount } from './read-count.ts'
import { isImage, resultParts } from './result-parts.ts'
import { foundTools, searchNote } from './search-answer.ts'
import {
  answersTo,
  CUT_OFF,
  PLAIN_ID,
  readArguments,
  readCalls,
  replayedName,
  uniqueIds,
  type WireCall,
} from './wire-calls.ts'
import type { ToolLimits, WireTool, WireTools } from './wire-tools.ts'

/** The part of a request that the Messages API takes from a dialect. */
export interface MessagesRequest {
  tools: Anthropic.ToolUnion[]
  messages: Anthropic.MessageParam[]
  system?: Anthropic.TextBlockParam[]
  cache_control?: Anthropic.CacheControlEphemeral
  /** The container that code of this conversation last ran in. */
  container?: string
}

/** A dialect of the Messages API, in the types of `@anthropic-ai/sdk`. */
export type MessagesDialect = Dialect<
  Anthropic.MessageParam,
  MessagesRequest,
  Anthropic.Message,
  Anthropic.RawMessageStreamEvent,
  Anthropic.ToolUnion
>

/** Who may call a tool: the model itself, code it runs, or both. By registered name. */
export type MessagesCallers = Readonly<Record<string, NonNullable<Anthropic.Tool['allowed_callers']>>>

/** What tells one dialect of the Messages API from another. */
export interface MessagesDialectOptions {
  readonly name: string
  readonly strategy: Strategy
  readonly rules: SchemaRules
  readonly limits: ToolLimits
  /** How long cached prefixes live; false writes no cache marks. */
  readonly cache: '5m' | '1h' | false
  /** Whether one mark on the request keeps the growing messages cached. */
  readonly hasRequestMark: boolean
  readonly allowedCallers?: MessagesCallers | undefined
}

/** The Messages API, which Anthropic and others speak. */
export function messagesDialect(options: MessagesDialectOptions): MessagesDialect {
  const { cache, hasRequestMark, allowedCallers = {}, ...form } = options
  const cacheControl: Anthropic.CacheControlEphemeral | undefined =
    cache === false ? undefined : { type: 'ephemeral', ...(cache === '1h' ? { ttl: '1h' } : {}) }
  /** By the message that came out of it. A history read from JSON starts without one. */
  const containers = new WeakMap<Anthropic.MessageParam, string>()
  return makeDialect({
    ...form,
    toRequest: (input, tools) => {
      const container = input.messages
        .map((message) => containers.get(message))
        .findLast((id) => id !== undefined)
      return {
        ...toRequest(input, tools, { cacheControl, allowedCallers }),
        ...(cacheControl && hasRequestMark ? { cache_control: cacheControl } : {}),
        ...(container === undefined ? {} : { container }),
      }
    },
    toReply,
    toMessages: (response, results, tools) => {
      const messages = toMessages(response, results, tools)
      const [reply] = messages
      const container = response.container?.id
      if (reply && typeof container === 'string') containers.set(reply, container)
      return messages
    },
    userMessage: (text) => ({ role: 'user', content: text }),
    openStream: () => new MessageStreamReader(),
  })
}

interface RequestOptions {
  readonly cacheControl: Anthropic.CacheControlEphemeral | undefined
  readonly allowedCallers: MessagesCallers
}

function toRequest(
  input: RequestInput<Anthropic.MessageParam, Anthropic.ToolUnion>,
  tools: WireTools,
  { cacheControl, allowedCallers }: RequestOptions,
): MessagesRequest {
  const { hostTools = [] } = input
  tools.checkCount(hostTools.length + tools.shown.length + tools.deferred.length)
  const system = systemText(input)
  const mark = cacheControl ? { cache_control: cacheControl } : {}
  const marked = system === '' ? lastLasting(input.surface, tools) : undefined
  const callersOf = new Map(
    Object.entries(allowedCallers).map(([name, callers]) => [tools.toWireName(name), callers]),
  )
  const toTool = ({ name, description, parameters }: WireTool): Anthropic.Tool => {
    const callers = callersOf.get(name)
    return {
      name,
      description,
      input_schema: parameters,
      ...(callers === undefined ? {} : { allowed_callers: callers }),
    }
  }
  return {
    tools: [
      ...hostTools,
      // The end of what never changes is marked: the system prompt, or else the last tool that stays the last.
      ...tools.shown.map((tool) => (tool.name === marked ? { ...toTool(tool), ...mark } : toTool(tool))),
      ...tools.deferred.map((tool) => ({ ...toTool(tool), defer_loading: true })),
    ],
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...mark }] }),
    messages: mendMessages(
      input.messages,
      new Set([...tools.shown, ...tools.deferred].map(({ name }) => name)),
    ),
  }
}

/** The last tool that activation adds nothing after: a mark that moved would change the bytes around it. */
function lastLasting({ strategy, deferredCount }: Surface, tools: WireTools): string | undefined {
  if (strategy === 'append' && tools.searchTool !== undefined) return tools.toWireName(tools.searchTool)
  if (strategy === 'append' && deferredCount > 0) return undefined
  return tools.shown.at(-1)?.name
}

function toReply(response: Anthropic.Message, tools: WireTools): Reply {
  const { calls, unrunnable } = readCalls(wireCallsOf(response), tools)
  return {
    text: blocksOf(response)
      .flatMap((block) => (block.type === 'text' ? [block.text] : []))
      .join(''),
    calls,
    unrunnable,
    stop: stopOf(response, calls.length + unrunnable.length > 0),
    ...(response.stop_details?.explanation ? { refusal: response.stop_details.explanation } : {}),
    usage: usageOf(response.usage),
  }
}

/** The blocks of an answer that can be read. */
function blocksOf({ content }: Anthropic.Message): readonly Anthropic.ContentBlock[] {
  if (!Array.isArray(content)) return []
  return content.filter(
    (block) => isRecord(block) && (block.type !== 'text' || typeof block.text === 'string'),
  )
}

function wireCallsOf(response: Anthropic.Message): readonly WireCall[] {
  const content = blocksOf(response)
  const blocks = content.filter((block) => block.type === 'tool_use')
  const ids = uniqueIds(
    blocks.map(({ id }) => id),
    response.id,
    PLAIN_ID,
  )
  const isLimited =
    response.stop_reason === 'max_tokens' || response.stop_reason === 'model_context_window_exceeded'
  return blocks.map((block, index) => ({
    id: ids[index] ?? block.id,
    wireName: typeof block.name === 'string' ? block.name : '',
    args: block.input,
    // What the limit cut off may still look whole: half a list is a list.
    fault: isLimited && block === content.at(-1) ? CUT_OFF : undefined,
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
  const content = replayable(blocksOf(response)).map((block): Anthropic.ContentBlockParam => {
    if (block.type !== 'tool_use') return block
    const { id = block.id, wireName = '' } = wireCalls[next++] ?? {}
    const name = replayedName(wireName)
    const input = readArguments(block.input) ?? {}
    const isSame = input === block.input && id === block.id && name === block.name
    return isSame ? block : { ...block, id, name, input }
  })
  if (content.length === 0) return []
  const reply: Anthropic.MessageParam = { role: 'assistant', content }
  if (wireCalls.length === 0) return [reply]
  const answers = answersTo(wireCalls, results, tools)
  const blocks = answers.map((answer) => toResultBlock(answer, tools))
  // Code that waits for results takes nothing else.
  const isAskedByCode = content.some((block) => block.type === 'tool_use' && isCodes(block.caller))
  const notes = answers.flatMap((answer, index) =>
    hasReferences(blocks[index]) && !isAskedByCode ? noteOf(answer, tools) : [],
  )
  return [reply, { role: 'user', content: [...blocks, ...notes] }]
}

/** Blocks that may be sent back: no blank text, and nothing that ends in thinking. */
function replayable(content: readonly Anthropic.ContentBlock[]): readonly Anthropic.ContentBlock[] {
  const said = content.filter((block) => block.type !== 'text' || block.text.trim() !== '')
  const last = said.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  return said.slice(0, last + 1)
}

function isCodes(caller: Anthropic.ToolUseBlockParam['caller']): boolean {
  return isRecord(caller) && caller.type !== 'direct'
}

function hasReferences(block: Anthropic.ToolResultBlockParam | undefined): boolean {
  return Array.isArray(block?.content) && block.content.some(({ type }) => type === 'tool_reference')
}

/** What a search says besides its references follows the results, since no text may stand among them. */
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
  const found = foundTools(structured).map((name) => tools.toWireName(name))
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
  if (!stop_reason) return 'cut'
  if (stop_reason === 'refusal') return 'refused'
  if (stop_reason === 'pause_turn') return 'paused'
  if (stop_reason === 'max_tokens' || stop_reason === 'model_context_window_exceeded') return 'length'
  return hasCalls ? 'calls' : 'done'
}

function usageOf(usage: Anthropic.Usage | undefined): Usage {
  if (!usage) return NO_USAGE
  return {
    inputTokens: readCount(usage.input_tokens),
    cachedInputTokens: readCount(usage.cache_read_input_tokens),
    cacheWriteTokens: readCount(usage.cache_creation_input_tokens),
    outputTokens: readCount(usage.output_tokens),
  }
}
