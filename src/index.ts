/**
 * Toolcrib: one registry for every tool an agent may use, a search that finds the right one, and a small surface
 * for the model. Everything here runs in a browser, a worker, Bun, Deno and Node.
 */
export type {
  BeforeCallAnswer,
  CallContext,
  CallHooks,
  HookedCall,
} from './call/call-environment.ts'
export { memorySpill } from './call/memory-spill.ts'
export type { Spill } from './call/spill.ts'
export type {
  Attachment,
  CapabilityBackend,
  CapabilityBackends,
  CapabilityHandles,
  CapabilityName,
  CapabilityRequest,
  CapabilityScope,
  FileAccess,
  FileInfo,
  NetworkAccess,
  ProcessAccess,
  ProcessOutcome,
  SecretAccess,
  StorageAccess,
} from './capability.ts'
export type { Clock } from './clock.ts'
export { defineTool, type InputOf, type SchemaInput, type ToolDraft } from './define-tool.ts'
export { ToolcribError, type ToolcribErrorCode } from './errors.ts'
export type { SyncReport, ToolcribEvent } from './events.ts'
export { fromOpenAI, type OpenAIToolDefinition } from './from-openai.ts'
export type { FunctionOptions } from './function-tool.ts'
export type { InferSchema } from './infer-schema.ts'
export type { ReduceContext, Reducer, ReducerLookup } from './reduce/reducer.ts'
export type { Explanation } from './registry/explain.ts'
export type { Defer, Mode } from './registry/mode.ts'
export type { Policy, ToolFilter } from './registry/policy.ts'
export type { ServerDirectory, ServerStatus } from './registry/server-directory.ts'
export type { RegisterOptions, SyncOptions } from './registry/to-entry.ts'
export type { RegistryOptions, SearcherName, SessionOptions, SharedOptions } from './registry-options.ts'
export {
  type CatalogueFindings,
  CatalogueSearch,
  type CatalogueSearchOptions,
} from './search/catalogue-search.ts'
export { lexical } from './search/lexical.ts'
export { regex } from './search/regex.ts'
export type { SearchMatch, SearchOptions, SearchResult } from './search/search-result.ts'
export type { Ranked, Ranking, RankOptions, Searcher, SearchIndex } from './search/searcher.ts'
export { weighted } from './search/weighted.ts'
export type { Activation } from './session/activations.ts'
export type { ActivationReport, ForkOptions, Session } from './session/session.ts'
export type { SearchStyle, SearchToolName } from './session/settings.ts'
export type { SessionState, SessionStore } from './session/state.ts'
export type { Stats } from './session/stats.ts'
export type { Strategy, Surface } from './session/surface.ts'
export { estimateTokens, exactTokenCounter, type TokenCounter } from './tokens.ts'
export type {
  CallErrorCode,
  CallResult,
  ContentBlock,
  JsonSchema,
  Listing,
  Tool,
  ToolAnnotations,
  ToolCall,
  ToolContext,
  ToolDefinition,
  ToolResult,
  ToolSource,
} from './tool.ts'
export {
  type RegistrySearchOptions,
  ToolRegistry,
  type ToolSchema,
} from './tool-registry.ts'
