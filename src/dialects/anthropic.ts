import { ANTHROPIC_RULES } from '../schema/translate/schema-rules.ts'
import { type MessagesDialect, messagesDialect } from './messages-dialect.ts'

export type { MessagesDialect, MessagesRequest } from './messages-dialect.ts'

/** How requests to Anthropic are cached. */
export interface AnthropicOptions {
  /** How long cached prefixes live; `false` writes no cache marks. `'5m'` when absent. */
  readonly cache?: '5m' | '1h' | false
}

/**
 * Anthropic's Messages API. Native deferral: every deferred tool is sent from the first request with
 * `defer_loading`, and what `tool_search` finds is answered with `tool_reference` blocks, so activation never
 * touches the cached prefix.
 */
export function anthropic({ cache = '5m' }: AnthropicOptions = {}): MessagesDialect {
  return messagesDialect({
    name: 'anthropic',
    strategy: 'native',
    rules: ANTHROPIC_RULES,
    cache,
    hasRequestMark: true,
  })
}
