import type Anthropic from '@anthropic-ai/sdk'
import { isRecord } from '../json.ts'
import type { Stop } from '../reply.ts'
import type { SchemaRules } from '../schema/translate/schema-rules.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { type AnsweredCall, makeDialect, type ReadReply } from './make-dialect.ts'
import { mendMessages } from './mend-messages.ts'
import { MessageStreamReader } from './message-stream.ts'
import { type MessagesCallers, MessagesTools } from './messages-tools.ts'
import { readCount, readText } from './read-value.ts'
import { isImage, resultParts } from './result-parts.ts'
import { searchNote } from './search-answer.ts'
import { CUT_OFF, PLAIN_ID, readArguments, replayedName, uniqueIds, type WireCall } from './wire-calls.ts'
import type { ToolLimits, WireTools } from './wire-tools.ts'

export type { MessagesCallers } from './messages-tools.ts'

/** The part of a Messages API request that a dialect builds. */
export interface MessagesRequest {
  tools: Anthropic.ToolUnion[]
  messages: Anthropic.MessageParam[]
  system?: Anthropic.TextBlockParam[]
  cache_control?: Anthropic.CacheControlEphemeral
  /** The container in which this conversation's code last ran. */
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

/** The differences between dialects of the Messages API. */
export interface MessagesDialectOptions {
  readonly name: string
  readonly strategy: Strategy
  readonly rules: SchemaRules
  readonly limits: ToolLimits
  /** Lifetime of cached prefixes; false sets no cache breakpoints. */
  readonly cache: '5m' | '1h' | false
  /** Whether a single breakpoint on the request keeps the growing messages cached. */
  readonly hasRequestMark: boolean
  readonly allowedCallers?: MessagesCallers | undefined
  /** Whether tools that joined the conversation late are defined in its messages instead of in `tools`. */
  readonly inlineTools?: boolean | undefined
  /** Whether they are called through `call_tool` instead. */
  readonly dispatchesLateTools?: boolean
}

/** The Messages API, which Anthropic and others implement. */
export function messagesDialect(options: MessagesDialectOptions): MessagesDialect {
  const { cache, hasRequestMark, allowedCallers = {}, inlineTools = false, ...form } = options
  const cacheControl: Anthropic.CacheControlEphemeral | undefined =
    cache === false ? undefined : { type: 'ephemeral', ...(cache === '1h' ? { ttl: '1h' } : {}) }
  const known = new WeakMap<WireTools, MessagesTools>()
  const toolsOf = (wire: WireTools): MessagesTools => {
    const tools = known.get(wire) ?? new MessagesTools(wire, allowedCallers, inlineTools)
    known.set(wire, tools)
    return tools
  }
  return makeDialect({
    ...form,
    toRequest: (input, tools) => {
      const container = input.messages.map(containerOf).findLast((id) => id !== undefined)
      return {
        ...toRequest(input, toolsOf(tools), cacheControl),
        ...(cacheControl && hasRequestMark ? { cache_control: cacheControl } : {}),
        ...(container === undefined ? {} : { container }),
      }
    },
    wireCallsOf,
    read,
    toMessages: (response, calls, tools) => {
      const [reply, ...answers] = toMessages(response, calls, toolsOf(tools))
      if (reply === undefined) return []
      return [withContainer(reply, response.container?.id), ...answers]
    },
    userMessage: (text) => ({ role: 'user', content: text }),
    openStream: () => new MessageStreamReader(),
  })
}

function toRequest(
  input: RequestInput<Anthropic.MessageParam, Anthropic.ToolUnion>,
  tools: MessagesTools,
  cacheControl: Anthropic.CacheControlEphemeral | undefined,
): MessagesRequest {
  const { hostTools = [] } = input
  const { shown } = tools.wire
  tools.wire.checkHostNames(hostTools.map((tool) => ('name' in tool ? tool.name : undefined)))
  tools.wire.checkCount(hostTools.length + shown.length + tools.declared.length + tools.inline.size)
  const system = systemText(input)
  const mark = cacheControl ? { cache_control: cacheControl } : {}
  const marked = system === '' ? lastLasting(input.surface, tools.wire) : undefined
  return {
    tools: [
      ...hostTools,
      // The breakpoint follows the constant part: the system prompt, or else the last constant tool.
      ...shown.map((tool) => ({ ...tools.toTool(tool), ...(tool.name === marked ? mark : {}) })),
      ...tools.declared.map((tool) => tools.toDeferredTool(tool)),
    ],
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...mark }] }),
    messages: mendMessages(input.messages, tools),
  }
}

/** The last tool that activation never appends to; moving the breakpoint would change the bytes around it. */
function lastLasting({ strategy, deferredCount }: Surface, tools: WireTools): string | undefined {
  if (strategy === 'append' && tools.searchTool !== undefined) return tools.toWireName(tools.searchTool)
  if (strategy === 'append' && deferredCount > 0) return undefined
  return tools.shown.at(-1)?.name
}

function read(response: Anthropic.Message, hasCalls: boolean): ReadReply {
  return {
    text: blocksOf(response)
      .flatMap((block) => (block.type === 'text' ? [block.text] : []))
      .join(''),
    stop: stopOf(response, hasCalls),
    ...(response.stop_details?.explanation ? { refusal: response.stop_details.explanation } : {}),
    usage: usageOf(response.usage),
  }
}

/** The readable blocks of a response. */
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
    wireName: readText(block.name),
    args: block.input,
    // A call cut off by the limit may still look complete: half a list is a list.
    fault: isLimited && block === content.at(-1) ? CUT_OFF : undefined,
  }))
}

function toMessages(
  response: Anthropic.Message,
  calls: readonly AnsweredCall[],
  tools: MessagesTools,
): readonly Anthropic.MessageParam[] {
  // A refusal must not be replayed, or the model would refuse again.
  if (response.stop_reason === 'refusal') return []
  let next = 0
  const content = replayable(blocksOf(response)).map((block): Anthropic.ContentBlockParam => {
    if (block.type !== 'tool_use') return block
    const { id = block.id, wireName = '' } = calls[next++] ?? {}
    const name = replayedName(wireName)
    const input = readArguments(block.input) ?? {}
    const isSame = input === block.input && id === block.id && name === block.name
    return isSame ? block : { ...block, id, name, input }
  })
  if (content.length === 0) return []
  const reply: Anthropic.MessageParam = { role: 'assistant', content }
  if (calls.length === 0) return [reply]
  const answers = calls.map(({ answer }) => answer)
  const blocks = answers.map((answer) => toResultBlock(answer, tools))
  // Code that waits for results accepts nothing else.
  const isAskedByCode = content.some((block) => block.type === 'tool_use' && isCodes(block.caller))
  const notes = answers.flatMap((answer, index) =>
    hasReferences(blocks[index]) && !isAskedByCode ? notesOf(answer, tools) : [],
  )
  const late = answers.flatMap((answer) => tools.foundIn(answer).filter((name) => tools.inline.has(name)))
  return [
    reply,
    { role: 'user', content: [...blocks, ...notes] },
    ...(late.length === 0 ? [] : [tools.toAddition(new Set(late))]),
  ]
}

/** Blocks that may be sent back: no blank text, and no trailing thinking. */
function replayable(content: readonly Anthropic.ContentBlock[]): readonly Anthropic.ContentBlock[] {
  const said = content.filter((block) => block.type !== 'text' || block.text.trim() !== '')
  const last = said.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  return said.slice(0, last + 1)
}

function isCodes(caller: Anthropic.ToolUseBlockParam['caller']): boolean {
  return isRecord(caller) && caller.type !== 'direct'
}

/**
 * The container in which the code of a reply ran. The API takes it with the request, not in the message, but only what is in
 * the messages survives a restart; `mendMessages` removes it from what is sent.
 */
function withContainer(reply: Anthropic.MessageParam, id: unknown): Anthropic.MessageParam {
  return typeof id === 'string' ? Object.assign({}, reply, { container: id }) : reply
}

function containerOf(message: Anthropic.MessageParam): string | undefined {
  return 'container' in message && typeof message.container === 'string' ? message.container : undefined
}

function hasReferences(block: Anthropic.ToolResultBlockParam | undefined): boolean {
  return Array.isArray(block?.content) && block.content.some(({ type }) => type === 'tool_reference')
}

/** A search's notes follow the results, since text is not allowed among them. */
function notesOf(answer: CallResult, tools: MessagesTools): Anthropic.TextBlockParam[] {
  const { result, untrusted } = answer
  const said = result.ok ? searchNote(result.structured, tools.wire) : ''
  const inline = tools.foundIn(answer).filter((name) => tools.inline.has(name))
  const defined = inline.length === 0 ? '' : `Found ${inline.join(', ')}; the definitions follow.`
  return [untrusted?.note ?? '', defined, said, tools.describeDispatched(answer)]
    .filter((text) => text !== '')
    .map((text) => ({ type: 'text', text }))
}

function toResultBlock(answer: CallResult, tools: MessagesTools): Anthropic.ToolResultBlockParam {
  const { toolCallId, result } = answer
  const base = { type: 'tool_result', tool_use_id: toolCallId } as const
  const found = tools.foundIn(answer)
  const references = found.filter((name) => !tools.inline.has(name) && !tools.dispatched.has(name))
  // References must be alone: the provider replaces them with the definitions.
  if (references.length > 0)
    return { ...base, content: references.map((name) => ({ type: 'tool_reference', tool_name: name })) }
  if (found.length > 0) return { ...base, content: notesOf(answer, tools) }
  return {
    ...base,
    content: resultParts(result, (mimeType) => isImage(mimeType) || mimeType === 'application/pdf').map(
      toBlock,
    ),
    ...(result.ok ? {} : { is_error: true }),
  }
}

function toBlock(
  part: ReturnType<typeof resultParts>[number],
): Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam {
  // The API rejects empty text blocks.
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
