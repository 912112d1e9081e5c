import type { ToolAnnotations, ToolResult, ToolSource } from '../tool.ts'

/**
 * A message of the AI SDK: the part of its `ModelMessage` that a dialect writes, or any message that the SDK itself
 * created.
 */
export type AiSdkMessage =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string | AiSdkPart[] }
  | { role: 'tool'; content: AiSdkToolResult[] }

/** A part of the model's answer: text, reasoning or a call. */
export type AiSdkPart =
  | { type: 'text'; text: string; providerOptions?: ProviderOptions }
  | { type: 'reasoning'; text: string; providerOptions?: ProviderOptions }
  | {
      type: 'tool-call'
      toolCallId: string
      toolName: string
      input: unknown
      providerOptions?: ProviderOptions
    }

/** The result of one call. */
export interface AiSdkToolResult {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: AiSdkOutput
}

/** The output of a tool, in the format of the AI SDK. */
export type AiSdkOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | {
      type: 'content'
      value: (
        | { type: 'text'; text: string }
        | { type: 'image-data' | 'file-data'; data: string; mediaType: string }
      )[]
    }

/** Values by provider; the SDK defines their inner type. */
type ProviderOptions = Record<string, never>

/** A tool for `generateText`, without an executor: the session runs the calls. */
export interface AiSdkTool<Schema> {
  description: string
  inputSchema: Schema
}

/** A call as an approval sees it: the tool that would run, even if it is called through `call_tool`. */
export interface TargetCall {
  readonly name: string
  readonly args: unknown
  readonly source: ToolSource
  /** The tool's own annotations. An MCP server without `trust` may claim anything. */
  readonly annotations?: ToolAnnotations
}

export interface ExecutableToolsOptions {
  /** Whether a call must wait for a person. Decided for each call; meta-tools never wait. Default: no call waits. */
  readonly needsApproval?: (call: TargetCall) => boolean
}

/** A tool that runs itself, for loops that the SDK drives. */
export interface ExecutableAiSdkTool<Schema> extends AiSdkTool<Schema> {
  /** For `toolSearch()` of AI SDK 7: true for tools that a session opened with `strategy: 'native'` defers. */
  deferLoading?: true
  /** Present if the host passed `needsApproval`. */
  needsApproval?(input: unknown): boolean
  execute(
    input: unknown,
    options: { toolCallId: string; abortSignal?: AbortSignal | undefined },
  ): Promise<ToolResult>
  toModelOutput(options: { output: ToolResult }): AiSdkOutput
}

/** The part of a `generateText` or `streamText` request that a dialect builds. */
export interface AiSdkRequest<Schema, Message> {
  tools: Record<string, AiSdkTool<Schema>>
  messages: Message[]
  system?: string
}

/** The fields of a `generateText` result that a dialect reads. */
export interface AiSdkResponse<Message = AiSdkMessage> {
  readonly text: string
  readonly finishReason: string | undefined
  readonly toolCalls: readonly AiSdkCall[]
  readonly response: { readonly messages: readonly Message[]; readonly id?: string | undefined }
  readonly usage: AiSdkUsage
}

/** A call of the model; `invalid` if the SDK could not parse it. */
export interface AiSdkCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly invalid?: boolean | undefined
}

/** What a request cost, as the AI SDK counts it. */
export interface AiSdkUsage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly inputTokenDetails?: {
    readonly cacheReadTokens?: number | undefined
    readonly cacheWriteTokens?: number | undefined
  }
}
