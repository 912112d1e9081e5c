import { checkOptions, trueOrFalse } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { Stop } from '../reply.ts'
import { COMPATIBLE_RULES } from '../schema/translate/schema-rules.ts'
import type { CallResult } from '../tool.ts'
import { NO_USAGE, type Usage } from '../usage.ts'
import { BedrockStreamReader } from './bedrock-stream.ts'
import type {
  BedrockBlock,
  BedrockDocument,
  BedrockMessage,
  BedrockRequest,
  BedrockResponse,
  BedrockResultBlock,
  BedrockStreamEvent,
  BedrockTool,
} from './bedrock-types.ts'
import { type Dialect, type RequestInput, systemText } from './dialect.ts'
import { type AnsweredCall, makeDialect, type ReadReply } from './make-dialect.ts'
import { mendConverse } from './mend-converse.ts'
import { readCount, readText } from './read-value.ts'
import { isImage, type ResultPart, resultParts } from './result-parts.ts'
import { CUT_OFF, PLAIN_ID, readArguments, replayedName, uniqueIds, type WireCall } from './wire-calls.ts'
import type { WireTools } from './wire-tools.ts'

export type {
  BedrockMessage,
  BedrockRequest,
  BedrockResponse,
  BedrockStreamEvent,
  BedrockTool,
} from './bedrock-types.ts'

/** The dialect of Bedrock's Converse API. */
export type BedrockDialect = Dialect<
  BedrockMessage,
  BedrockRequest,
  BedrockResponse,
  BedrockStreamEvent,
  BedrockTool
>

/** Cache settings. */
export interface BedrockOptions {
  /**
   * Sets cache points after tools, system prompt and messages. Only for models that support caching. False by
   * default.
   */
  readonly cache?: boolean
}

/**
 * Amazon Bedrock's Converse API, for any model that supports tools. It cannot defer, so the surface stays constant
 * and the model calls found tools through `call_tool`. Throws `config-invalid` for an unknown option or value.
 */
export function bedrock(options: BedrockOptions = {}): BedrockDialect {
  checkOptions<BedrockOptions>('bedrock()', options, { cache: trueOrFalse })
  const { cache = false } = options
  return makeDialect({
    name: 'bedrock',
    strategy: 'dispatch',
    rules: COMPATIBLE_RULES,
    limits: { api: 'Bedrock', maxTools: Number.POSITIVE_INFINITY },
    toRequest: (input, tools) => toRequest(input, tools, cache),
    wireCallsOf,
    read,
    toMessages,
    userMessage: (text) => ({ role: 'user', content: [{ text }] }),
    openStream: () => new BedrockStreamReader(),
  })
}

const CACHE_POINT = { cachePoint: { type: 'default' } } as const

function toRequest(
  input: RequestInput<BedrockMessage, BedrockTool>,
  wireTools: WireTools,
  cache: boolean,
): BedrockRequest {
  const messages = mendConverse(input.messages)
  const mark = cache ? [CACHE_POINT] : []
  wireTools.checkHostNames((input.hostTools ?? []).map(hostName))
  const own = [...(input.hostTools ?? []), ...[...wireTools.shown, ...wireTools.deferred].map(toTool)]
  // Bedrock rejects a history with calls if no tool is defined.
  const tools = own.length > 0 ? own : calledNames(messages).map(goneTool)
  const system = systemText(input)
  const last = messages.at(-1)
  return {
    messages:
      cache && last
        ? [...messages.slice(0, -1), { ...last, content: [...last.content, CACHE_POINT] }]
        : messages,
    ...(system === '' ? {} : { system: [{ text: system }, ...mark] }),
    ...(tools.length === 0 ? {} : { toolConfig: { tools: [...tools, ...mark] } }),
  }
}

function hostName(tool: BedrockTool): string | undefined {
  if ('toolSpec' in tool) return tool.toolSpec.name
  return 'systemTool' in tool ? tool.systemTool.name : undefined
}

function toTool({ name, description, parameters }: WireTools['shown'][number]): BedrockTool {
  return {
    toolSpec: {
      name,
      // Bedrock rejects an empty description.
      ...(description === '' ? {} : { description }),
      inputSchema: { json: parameters as BedrockDocument },
    },
  }
}

function calledNames(messages: readonly BedrockMessage[]): readonly string[] {
  const names = messages.flatMap(({ content }) =>
    content.flatMap((block) => ('toolUse' in block ? [block.toolUse.name] : [])),
  )
  return [...new Set(names)]
}

function goneTool(name: string): BedrockTool {
  const json = { type: 'object', properties: {} }
  return { toolSpec: { name, description: 'No longer available.', inputSchema: { json } } }
}

function read(response: BedrockResponse, hasCalls: boolean): ReadReply {
  return {
    text: blocksOf(response)
      .flatMap((block) => ('text' in block ? [block.text] : []))
      .join(''),
    stop: response.error ? 'cut' : stopOf(response.stopReason, hasCalls),
    ...(response.error ? { error: response.error } : {}),
    usage: usageOf(response.usage),
  }
}

/** The readable blocks of a response. */
function blocksOf({ output }: BedrockResponse): readonly BedrockBlock[] {
  const message = isRecord(output) ? output.message : undefined
  const content: readonly unknown[] =
    isRecord(message) && Array.isArray(message.content) ? message.content : []
  return content.filter((block): block is BedrockBlock => {
    if (!isRecord(block)) return false
    if ('text' in block) return typeof block.text === 'string'
    return !('toolUse' in block) || isRecord(block.toolUse)
  })
}

function wireCallsOf(response: BedrockResponse): readonly WireCall[] {
  const blocks = blocksOf(response)
  const uses = blocks.flatMap((block) => ('toolUse' in block ? [block.toolUse] : []))
  const ids = uniqueIds(
    uses.map(({ toolUseId }) => toolUseId),
    undefined,
    PLAIN_ID,
  )
  const last = blocks.at(-1)
  return uses.map((use, index) => ({
    id: ids[index] ?? '',
    wireName: readText(use.name),
    args: use.input,
    // A call cut off by the limit may still look complete: half a list is a list.
    fault:
      isLimited(response.stopReason) && last && 'toolUse' in last && last.toolUse === use
        ? CUT_OFF
        : undefined,
  }))
}

function isLimited(stopReason: string | undefined): boolean {
  return stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded'
}

function toMessages(response: BedrockResponse, calls: readonly AnsweredCall[]): readonly BedrockMessage[] {
  if (isRefused(response.stopReason)) return []
  let next = 0
  const content = replayable(blocksOf(response)).map((block): BedrockBlock => {
    if (!('toolUse' in block)) return block
    const { id = '', wireName = '', args } = calls[next++] ?? {}
    const input = (readArguments(args) ?? {}) as BedrockDocument
    return { toolUse: { ...block.toolUse, toolUseId: id, name: replayedName(wireName), input } }
  })
  if (content.length === 0) return []
  const reply: BedrockMessage = { role: 'assistant', content }
  if (calls.length === 0) return [reply]
  return [reply, { role: 'user', content: calls.map(({ answer }) => toResult(answer)) }]
}

/** Blocks that may be sent back: no blank text, and no trailing reasoning. */
function replayable(blocks: readonly BedrockBlock[]): readonly BedrockBlock[] {
  const said = blocks.filter((block) => !('text' in block) || block.text.trim() !== '')
  return said.slice(0, said.findLastIndex((block) => !('reasoningContent' in block)) + 1)
}

function toResult({ toolCallId, result }: CallResult): BedrockBlock {
  const parts = resultParts(result, (mimeType) => isImage(mimeType) || mimeType === 'application/pdf')
  return {
    toolResult: {
      toolUseId: toolCallId,
      content: parts.map(toResultBlock),
      ...(result.ok ? {} : { status: 'error' }),
    },
  }
}

function toResultBlock(part: ResultPart, index: number): BedrockResultBlock {
  // Bedrock rejects empty text.
  if (part.kind === 'text') return { text: part.text === '' ? '(no output)' : part.text }
  const source = { bytes: Uint8Array.from(atob(part.data), (letter) => letter.charCodeAt(0)) }
  if (part.mimeType === 'application/pdf')
    return { document: { format: 'pdf', name: `document-${index}`, source } }
  return { image: { format: part.mimeType.slice('image/'.length) as 'png', source } }
}

function isRefused(stopReason: string | undefined): boolean {
  return stopReason === 'content_filtered' || stopReason === 'guardrail_intervened'
}

function stopOf(stopReason: string | undefined, hasCalls: boolean): Stop {
  if (typeof stopReason !== 'string') return 'cut'
  if (isRefused(stopReason)) return 'refused'
  if (isLimited(stopReason)) return 'length'
  if (hasCalls) return 'calls'
  // Bedrock could not parse the model's output; a retry may succeed.
  return stopReason.startsWith('malformed') ? 'cut' : 'done'
}

function usageOf(usage: BedrockResponse['usage']): Usage {
  if (!isRecord(usage)) return NO_USAGE
  return {
    inputTokens: readCount(usage.inputTokens),
    cachedInputTokens: readCount(usage.cacheReadInputTokens),
    cacheWriteTokens: readCount(usage.cacheWriteInputTokens),
    outputTokens: readCount(usage.outputTokens),
  }
}
