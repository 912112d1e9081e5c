import { ANTHROPIC_RULES } from '../schema/translate/schema-rules.ts'
import { type MessagesCallers, type MessagesDialect, messagesDialect } from './messages-dialect.ts'

export type { MessagesCallers, MessagesDialect, MessagesRequest } from './messages-dialect.ts'

/** How requests to Anthropic are cached, and which tools code may call. */
export interface AnthropicOptions {
  /** How long cached prefixes live; `false` writes no cache marks. `'5m'` when absent. */
  readonly cache?: '5m' | '1h' | false
  /** Tools that code run by the model may call, by name; a tool that is not named is called by the model only. */
  readonly allowedCallers?: MessagesCallers
  /**
   * Defines tools of servers that joined late in the messages and not in `tools`, for models that bind their thinking
   * to the request. Needs the beta `inline-tools-2026-09-15`. Without it such tools are added at the end of `tools`.
   */
  readonly inlineTools?: boolean
}

/**
 * Anthropic's Messages API. Native deferral: every deferred tool is sent from the first request with
 * `defer_loading`, and what `tool_search` finds is returned as `tool_reference` blocks, so activation never
 * changes the cached prefix.
 */
export function anthropic({
  cache = '5m',
  allowedCallers,
  inlineTools,
}: AnthropicOptions = {}): MessagesDialect {
  return messagesDialect({
    name: 'anthropic',
    strategy: 'native',
    rules: ANTHROPIC_RULES,
    limits: { api: 'Anthropic', maxTools: 10_000 },
    cache,
    hasRequestMark: true,
    allowedCallers,
    inlineTools,
  })
}
