import { anyFunction, checkOptions, required } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { Stop } from '../reply.ts'
import { COMPATIBLE_RULES } from '../schema/translate/schema-rules.ts'
import type { ObjectSchema } from '../schema/translate/translate-schema.ts'
import type { Session } from '../session/session.ts'
import type { ToolResult } from '../tool.ts'
import type { Usage } from '../usage.ts'
import { type AiSdkStreamPart, AiSdkStreamReader } from './ai-sdk-stream.ts'
import type {
  AiSdkMessage,
  AiSdkOutput,
  AiSdkRequest,
  AiSdkResponse,
  AiSdkTool,
  AiSdkToolResult,
  AiSdkUsage,
  ExecutableAiSdkTool,
  ExecutableToolsOptions,
} from './ai-sdk-types.ts'
import { type Dialect, systemText } from './dialect.ts'
import { type AnsweredCall, makeDialect } from './make-dialect.ts'
import { CallIds, GO_ON, withUserTurns } from './mend-history.ts'
import { readCount } from './read-value.ts'
import { isImage, resultParts } from './result-parts.ts'
import { answersTo, CUT_OFF, readArguments, readCalls, uniqueIds, type WireCall } from './wire-calls.ts'
import { type WireTool, type WireTools, wireToolsBy } from './wire-tools.ts'

export type {
  AiSdkCall,
  AiSdkMessage,
  AiSdkOutput,
  AiSdkPart,
  AiSdkRequest,
  AiSdkResponse,
  AiSdkTool,
  AiSdkToolResult,
  AiSdkUsage,
  ExecutableAiSdkTool,
  ExecutableToolsOptions,
  TargetCall,
} from './ai-sdk-types.ts'

/** The dialect of the AI SDK, in the schema and message types of the version the host uses. */
export interface AiSdkDialect<Schema, Message>
  extends Dialect<Message, AiSdkRequest<Schema, Message>, AiSdkResponse<Message>, AiSdkStreamPart> {
  /**
   * The tools of a session with executors, for loops that the SDK runs. The surface is read once: open the session with
   * this dialect, so that it is constant. Throws `config-invalid` for an unknown option.
   */
  toExecutableTools(
    session: SessionOfTools,
    options?: ExecutableToolsOptions,
  ): Record<string, ExecutableAiSdkTool<Schema>>
  /**
   * The search of a session, for `toolSearch({ search })` of AI SDK 7. Open the session with `strategy: 'native'`: the
   * SDK then withholds the tools that the session defers, and replaces the session's own search tool.
   */
  toolSearch(session: Pick<Session, 'surface' | 'search'>): (options: { query: string }) => Promise<string[]>
}

type SessionOfTools = Pick<Session, 'surface' | 'execute' | 'scope'>

export interface AiSdkOptions<Schema> {
  /** `jsonSchema` of the `ai` package the host uses. */
  readonly jsonSchema: (schema: ObjectSchema) => Schema
}

/**
 * Vercel's AI SDK, versions 6 and 7, with any of its providers. It is unknown what a provider can defer, so the surface
 * stays constant and the model calls found tools through `call_tool`. Throws `config-invalid` for an unknown option,
 * and without `jsonSchema`.
 */
export function aiSdk<Schema, Message = AiSdkMessage>(
  options: AiSdkOptions<Schema>,
): AiSdkDialect<Schema, Message | AiSdkMessage> {
  checkOptions<AiSdkOptions<Schema>>('aiSdk()', options, { jsonSchema: required(anyFunction) })
  const { jsonSchema } = options
  const toTool = ({ description, parameters }: WireTool): AiSdkTool<Schema> => ({
    description,
    inputSchema: jsonSchema(parameters),
  })
  const toExecutable = (session: SessionOfTools, tools: WireTools, options: ExecutableToolsOptions) => {
    const deferred = new Set(tools.deferred)
    return byName(tools, (tool) => ({
      ...toTool(tool),
      ...(deferred.has(tool) ? { deferLoading: true as const } : {}),
      ...approval(session, tools, tool.name, options),
      ...executor(session, tools, tool.name),
    }))
  }
  const limits = { api: 'the AI SDK', maxTools: Number.POSITIVE_INFINITY }
  const wireTools = wireToolsBy(COMPATIBLE_RULES, limits)
  return {
    ...makeDialect<
      Message | AiSdkMessage,
      AiSdkRequest<Schema, Message | AiSdkMessage>,
      AiSdkResponse<Message | AiSdkMessage>,
      AiSdkStreamPart,
      never
    >({
      name: 'ai-sdk',
      strategy: 'dispatch',
      rules: COMPATIBLE_RULES,
      limits,
      toRequest: (input, tools) => {
        const system = systemText(input)
        return {
          tools: byName(tools, toTool),
          messages: mendMessages(input.messages),
          ...(system === '' ? {} : { system }),
        }
      },
      wireCallsOf,
      read: (response, hasCalls) => ({
        text: response.text,
        stop: stopOf(response, hasCalls),
        usage: usageOf(response.usage),
      }),
      toMessages: (response, calls) =>
        response.finishReason === 'content-filter'
          ? []
          : [...replayed(response), ...toolMessage(response, calls)],
      userMessage,
      openStream: () => new AiSdkStreamReader(),
    }),
    toExecutableTools(session, options = {}) {
      checkOptions<ExecutableToolsOptions>('toExecutableTools()', options, { needsApproval: anyFunction })
      return toExecutable(session, wireTools(session.surface()), options)
    },
    toolSearch: (session) => async (asked) => {
      const { matches } = await session.search(asked.query, { limit: MAX_FOUND })
      const tools = wireTools(session.surface())
      return matches.map(({ name }) => tools.toWireName(name))
    },
  }
}

/** More than the SDK keeps: it leaves out tools that are not deferred. */
const MAX_FOUND = 25

function userMessage(text: string): AiSdkMessage {
  return { role: 'user', content: text }
}

/** Gives each call a unique id, and ends with a user message: the SDK's providers need both. */
function mendMessages<Message>(messages: readonly Message[]): (Message | AiSdkMessage)[] {
  const ids = new CallIds()
  const mended = messages.map((message) => {
    if (!isRecord(message) || !Array.isArray(message.content)) return message
    const content = message.content.map((part: unknown) => withOwnId(part, ids))
    const before = message.content
    return content.every((part, index) => part === before[index]) ? message : { ...message, content }
  })
  const isModels = (message: unknown) => isRecord(message) && message.role === 'assistant'
  return withUserTurns<Message | AiSdkMessage>(mended, isModels, userMessage(GO_ON))
}

function withOwnId(part: unknown, ids: CallIds): unknown {
  if (!isRecord(part) || typeof part.toolCallId !== 'string') return part
  // The SDK answers some calls itself, in the same message.
  if (part.type !== 'tool-call' && part.type !== 'tool-result') return part
  const toolCallId = part.type === 'tool-call' ? ids.ofCall(part.toolCallId) : ids.ofResult(part.toolCallId)
  return toolCallId === part.toolCallId ? part : { ...part, toolCallId }
}

function byName<Tool>(
  { shown, deferred }: WireTools,
  toTool: (tool: WireTool) => Tool,
): Record<string, Tool> {
  return Object.fromEntries([...shown, ...deferred].map((tool) => [tool.name, toTool(tool)]))
}

function approval(
  session: SessionOfTools,
  tools: WireTools,
  wireName: string,
  { needsApproval }: ExecutableToolsOptions,
) {
  if (!needsApproval) return {}
  return {
    needsApproval(input: unknown): boolean {
      const { calls } = readCalls([{ id: '', wireName, args: input }], tools)
      const turn = session.scope()
      const target = calls[0] && turn.resolve(calls[0])
      // Calls that cannot be parsed or found fail without running anything.
      if (!target || turn.metaTools.includes(target.entry)) return false
      const { name, source, tool } = target.entry
      const { annotations } = tool
      return needsApproval({ name, args: target.args, source, ...(annotations ? { annotations } : {}) })
    },
  }
}

function executor(session: Pick<Session, 'execute'>, tools: WireTools, wireName: string) {
  return {
    async execute(
      input: unknown,
      { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal | undefined },
    ): Promise<ToolResult> {
      const wireCall: WireCall = { id: toolCallId, wireName, args: input }
      const { calls } = readCalls([wireCall], tools)
      const results = await session.execute(calls, abortSignal ? { signal: abortSignal } : {})
      const [answer] = answersTo([wireCall], results, tools)
      return answer?.result ?? { ok: false, code: 'cancelled', error: 'the call was not run' }
    },
    toModelOutput: ({ output }: { output: ToolResult }) => outputOf(output),
  }
}

function wireCallsOf({ toolCalls, finishReason, response }: AiSdkResponse<unknown>): readonly WireCall[] {
  const ids = uniqueIds(
    toolCalls.map(({ toolCallId }) => toolCallId),
    response.id,
  )
  return toolCalls.map(({ toolName, input, invalid }, index) => {
    const isCut = finishReason === 'length' && index === toolCalls.length - 1
    const fault = isCut ? CUT_OFF : invalid === true ? 'the call could not be read' : undefined
    return { id: ids[index] ?? '', wireName: toolName, args: input, fault }
  })
}

/** The SDK's own messages; each call with a unique id, and with arguments that a provider accepts. */
function replayed<Message>(response: AiSdkResponse<Message>): readonly Message[] {
  const ids = wireCallsOf(response).map(({ id }) => id)
  const isSound = response.toolCalls.every(
    ({ toolCallId, input }, index) => toolCallId === ids[index] && isRecord(input),
  )
  if (isSound) return response.response.messages
  let next = 0
  return response.response.messages.map((message) => {
    if (!isRecord(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return message
    const content = message.content.map((part: unknown) =>
      isRecord(part) && part.type === 'tool-call'
        ? { ...part, toolCallId: ids[next++] ?? part.toolCallId, input: readArguments(part.input) ?? {} }
        : part,
    )
    return { ...message, content }
  })
}

function toolMessage(response: AiSdkResponse<unknown>, calls: readonly AnsweredCall[]): AiSdkMessage[] {
  // The SDK answers calls that it could not parse in its own messages, unless they come from a stream.
  const answered = answeredIds(response.response.messages)
  const open = calls.filter(({ id }) => !answered.has(id))
  if (open.length === 0) return []
  const content = open.map(
    ({ wireName, answer }): AiSdkToolResult => ({
      type: 'tool-result',
      toolCallId: answer.toolCallId,
      toolName: wireName,
      output: outputOf(answer.result),
    }),
  )
  return [{ role: 'tool', content }]
}

function answeredIds(messages: readonly unknown[]): ReadonlySet<unknown> {
  const parts = messages.flatMap((message) =>
    isRecord(message) && Array.isArray(message.content) ? (message.content as readonly unknown[]) : [],
  )
  return new Set(
    parts.flatMap((part) => (isRecord(part) && part.type === 'tool-result' ? [part.toolCallId] : [])),
  )
}

function outputOf(result: ToolResult): AiSdkOutput {
  const parts = resultParts(result, (mimeType) => isImage(mimeType) || mimeType === 'application/pdf')
  const [only, ...others] = parts
  if (only?.kind === 'text' && others.length === 0)
    return { type: result.ok ? 'text' : 'error-text', value: only.text }
  return {
    type: 'content',
    value: parts.map((part) =>
      part.kind === 'text'
        ? { type: 'text', text: part.text }
        : {
            type: isImage(part.mimeType) ? 'image-data' : 'file-data',
            data: part.data,
            mediaType: part.mimeType,
          },
    ),
  }
}

function stopOf({ finishReason }: AiSdkResponse<unknown>, hasCalls: boolean): Stop {
  if (finishReason === undefined || finishReason === 'error') return 'cut'
  if (finishReason === 'content-filter') return 'refused'
  if (finishReason === 'length') return 'length'
  return hasCalls ? 'calls' : 'done'
}

function usageOf({ inputTokens, outputTokens, inputTokenDetails }: AiSdkUsage): Usage {
  const cached = readCount(inputTokenDetails?.cacheReadTokens)
  const written = readCount(inputTokenDetails?.cacheWriteTokens)
  return {
    inputTokens: readCount(readCount(inputTokens) - cached - written),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: readCount(outputTokens),
  }
}
