/**
 * Toolcrib: one registry for every tool an agent may use, a search that finds the right one, and a small surface for
 * the model. Everything here runs in browsers, workers, Bun, Deno and Node.
 */

export {
  type DefinedTool,
  defineTool,
  type InputOf,
  type SchemaInput,
  type ToolDraft,
} from './authoring/define-tool.ts'
export { type AiSdkToolDefinition, fromAiSdk } from './authoring/from-ai-sdk.ts'
export { type AnthropicToolDefinition, fromAnthropic } from './authoring/from-anthropic.ts'
export { fromLangChain, type LangChainToolDefinition } from './authoring/from-langchain.ts'
export { fromOpenAI, type OpenAIToolDefinition } from './authoring/from-openai.ts'
export type { FunctionOptions } from './authoring/function-tool.ts'
export type { InferSchema } from './authoring/infer-schema.ts'
export type { AskAnswer, AskedCall, AskHandler, AskRequest } from './call/ask.ts'
export type {
  BeforeCallAnswer,
  CallContext,
  CallExecutor,
  CallHooks,
  ExecutedCall,
  HookedCall,
} from './call/call-scope.ts'
export { type MemorySpillOptions, memorySpill, type Spill } from './call/spill.ts'
export {
  type Attachment,
  type CapabilityBackend,
  type CapabilityBackends,
  CapabilityError,
  type CapabilityHandles,
  type CapabilityName,
  type CapabilityRequest,
  type CapabilityScope,
  type FileAccess,
  type FileInfo,
  type NetworkAccess,
  type ProcessAccess,
  type ProcessOutcome,
  type SecretAccess,
  type StorageAccess,
} from './capability.ts'
export { ToolcribError, type ToolcribErrorCode } from './errors.ts'
export type {
  AgentEventBody,
  EventBody,
  Listener,
  ServerEventBody,
  ServerNeed,
  SyncReport,
  ToolcribEvent,
} from './events.ts'
export type { Finding, FindingKind, Severity } from './finding.ts'
export type { ActivationReport, SearchStyle, SearchToolName } from './meta-tools/search-session.ts'
export {
  type JsonReducerOptions,
  jsonReducer,
  /** @deprecated Use `jsonReducer`. */
  jsonReducer as json,
} from './reduce/json.ts'
export { type KanbanListOptions, kanbanList } from './reduce/kanban-list.ts'
export {
  type ReadFileOptions,
  readFileReducer,
  /** @deprecated Use `readFileReducer`. */
  readFileReducer as readFile,
} from './reduce/read-file.ts'
export type { Reducer, ReducerLookup } from './reduce/reducer.ts'
export { ReducerRegistry } from './reduce/reducer-registry.ts'
export {
  type TerminalOptions,
  terminalReducer,
  /** @deprecated Use `terminalReducer`. */
  terminalReducer as terminal,
} from './reduce/terminal.ts'
export type { ToolSchema } from './registry/entry.ts'
export type { Defer, Mode } from './registry/mode.ts'
export type { Policy, ToolFilter } from './registry/policy.ts'
export type { RegisterOptions, SyncOptions } from './registry/registrar.ts'
export type { ServerDirectory, ServerStatus } from './registry/server-directory.ts'
export type {
  RegistryOptions,
  RegistrySearchOptions,
  SessionOptions,
  SharedOptions,
} from './registry-options.ts'
export { CatalogueSearch } from './search/catalogue-search.ts'
export type { CatalogueFindings, CatalogueSearchOptions } from './search/findings.ts'
export { type HybridOptions, hybrid } from './search/hybrid.ts'
export { lexical } from './search/lexical.ts'
export type { Episode, Lesson } from './search/memory/episodes.ts'
export {
  type ContextMemory,
  type ForgetOptions,
  type UsageMemory,
  type UsageMemoryOptions,
  usageMemory,
} from './search/memory/usage-memory.ts'
export type { SearcherName } from './search/named-searchers.ts'
export { parseQuery, type Query } from './search/query/query.ts'
export { regex } from './search/regex.ts'
export type { SearchMatch, SearchOptions, SearchResult } from './search/search-result.ts'
export {
  acceptEvery,
  type Lift,
  type Ranked,
  type Ranking,
  type RankOptions,
  type Searcher,
  type SearchIndex,
  type SearchMemory,
} from './search/searcher.ts'
export { type SemanticOptions, semantic } from './search/semantic.ts'
export type { Embedder, Vector } from './search/vectors/embedder.ts'
export type { VectorSearcher } from './search/vectors/vector-searcher.ts'
export { weighted } from './search/weighted.ts'
export type { Activation } from './session/activations.ts'
export type { Explanation } from './session/explain-tool.ts'
export type { ForkOptions } from './session/fork.ts'
export type { SentRequest } from './session/prompt-prefix.ts'
export type { Session } from './session/session.ts'
export type { SessionOrigin } from './session/sessions.ts'
export type { SessionDialect } from './session/settings.ts'
export { deleteSession, type SessionState } from './session/state.ts'
export type { Stats } from './session/stats.ts'
export type { Strategy, Surface } from './session/surface.ts'
export type {
  /** @deprecated Use `Turn`. */
  Turn as ModelTurn,
  Turn,
  TurnDialect,
  TurnRequestOptions,
} from './session/turn.ts'
export { HINT_LIMITS, hintLine } from './session/turn-hints.ts'
export type { SearchKind, Skill } from './skills/skill-shelf.ts'
export { type MemoryStoreOptions, memoryStore } from './store/memory-store.ts'
export type { Change, JsonValue, Store, StoredValue, WriteOptions } from './store/store.ts'
export { estimateTokens, type TokenCounter } from './text.ts'
export type { Clock, Schedule } from './time.ts'
export {
  type CallErrorCode,
  type CallProgress,
  type CallResult,
  type ContentBlock,
  type JsonSchema,
  type Listing,
  type ProgressNote,
  type ReduceContext,
  type Returned,
  type ReturnedResult,
  type Tool,
  type ToolAnnotations,
  type ToolCall,
  type ToolContext,
  type ToolDefinition,
  type ToolResult,
  type ToolSource,
  UNTRUSTED_NOTE,
} from './tool.ts'
export { ToolRegistry } from './tool-registry.ts'
