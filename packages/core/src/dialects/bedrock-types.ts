/**
 * The part of Bedrock's Converse API that the dialect reads and writes. These types are compatible with
 * `ConverseCommandInput` of `@aws-sdk/client-bedrock-runtime` and with its outputs and stream events, so the package
 * need not be installed.
 */

/** Any JSON value. */
export type BedrockDocument =
  | null
  | boolean
  | number
  | string
  | BedrockDocument[]
  | { [key: string]: BedrockDocument }

/** A message of the Converse API. */
export interface BedrockMessage {
  role: 'user' | 'assistant'
  content: BedrockBlock[]
}

/** A content block. Unknown blocks are replayed unchanged. */
export type BedrockBlock =
  | { text: string }
  | { toolUse: BedrockToolUse }
  | { toolResult: BedrockToolResult }
  | { reasoningContent: BedrockReasoning }
  | { cachePoint: BedrockCachePoint }

export interface BedrockToolUse {
  toolUseId: string
  name: string
  input: BedrockDocument
}

export interface BedrockToolResult {
  toolUseId: string
  content: BedrockResultBlock[]
  status?: 'success' | 'error'
}

export type BedrockResultBlock =
  | { text: string }
  | { image: { format: 'png' | 'jpeg' | 'gif' | 'webp'; source: { bytes: Uint8Array } } }
  | { document: { format: 'pdf'; name: string; source: { bytes: Uint8Array } } }

export type BedrockReasoning =
  | { reasoningText: { text: string; signature?: string } }
  | { redactedContent: Uint8Array }

export interface BedrockCachePoint {
  type: 'default'
}

/** One of the session's tools, one of the provider's, or the end of a cached prefix. */
export type BedrockTool =
  | { toolSpec: { name: string; description?: string; inputSchema: { json: BedrockDocument } } }
  | { systemTool: { name: string } }
  | { cachePoint: BedrockCachePoint }

/** The part of a `Converse` or `ConverseStream` request that a dialect builds. */
export interface BedrockRequest {
  messages: BedrockMessage[]
  system?: ({ text: string } | { cachePoint: BedrockCachePoint })[]
  /** Absent when there are no tools: Bedrock rejects an empty list. */
  toolConfig?: { tools: BedrockTool[] }
}

/** The part of a response that a dialect reads. */
export interface BedrockResponse {
  readonly output?: { readonly message?: { readonly content?: readonly object[] | undefined } } | undefined
  readonly stopReason?: string | undefined
  readonly usage?: BedrockUsage | undefined
  /** An error in the middle of a stream. */
  readonly error?: { readonly message: string; readonly code: string } | undefined
}

export interface BedrockUsage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cacheReadInputTokens?: number | undefined
  readonly cacheWriteInputTokens?: number | undefined
}

/** An event of `ConverseStream`: exactly one of these keys is set. */
export interface BedrockStreamEvent {
  readonly contentBlockStart?: {
    readonly start?: object | undefined
    readonly contentBlockIndex?: number | undefined
  }
  readonly contentBlockDelta?: {
    readonly delta?: object | undefined
    readonly contentBlockIndex?: number | undefined
  }
  readonly contentBlockStop?: { readonly contentBlockIndex?: number | undefined }
  readonly messageStop?: { readonly stopReason?: string | undefined }
  readonly metadata?: { readonly usage?: BedrockUsage | undefined }
}
