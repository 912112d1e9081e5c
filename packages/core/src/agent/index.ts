/**
 * `toolcrib/agent`: the loop that lets a model work with a session's tools, models to run it with, and sub-agents.
 * Runs wherever the core does, in browsers too; a provider's SDK is loaded with the first request to its model.
 */

export type { AgentLimit, AgentStop } from '../events.ts'
export type { LedgerTotals, Prices, SpendLimits } from '../usage.ts'
export { activeToolsNote } from './active-tools-note.ts'
export { type AgentDefinition, parseAgent } from './agent-definition.ts'
export type { AgentEvent } from './agent-event.ts'
export type { AgentHooks, ModelCall } from './agent-hooks.ts'
export type { AgentOptions } from './agent-options.ts'
export type { AgentResult } from './agent-result.ts'
export { type AgentToolOptions, agentTool } from './agent-tool.ts'
export type { RetryOptions } from './ask-model.ts'
export { Ledger, type PriceList } from './ledger.ts'
export type { LoopGuardOptions } from './loop-guard.ts'
export { type Answer, type MessageOfModel, type Model, readAnswer, type SendOptions } from './model.ts'
export { type AnthropicModelOptions, anthropicModel } from './models/anthropic.ts'
export { type GeminiModel, type GeminiModelOptions, geminiModel } from './models/gemini.ts'
export type { MessagesModel, MessagesModelOptions } from './models/messages-model.ts'
export { type MiniMaxModelOptions, minimaxModel } from './models/minimax.ts'
export { type OpenAiChatModel, type OpenAiChatModelOptions, openaiChatModel } from './models/openai-chat.ts'
export {
  type OpenAiResponsesModel,
  type OpenAiResponsesModelOptions,
  openaiResponsesModel,
} from './models/openai-responses.ts'
export type { AgentGrants, PausedRun, PendingCall } from './paused-run.ts'
export { type ResumeOptions, resumeAgent, runAgent } from './run-agent.ts'
export type { RunningAgent } from './running-agent.ts'
export { type ScriptedCall, type ScriptedModel, type ScriptedTurn, scriptedModel } from './scripted-model.ts'
export type { Timing } from './timing.ts'
