import { checkOptions, type OptionRules, objectOf, oneOf, textList, trueOrFalse } from '../check-options.ts'
import { ANTHROPIC_RULES } from '../schema/translate/schema-rules.ts'
import { type MessagesCallers, type MessagesDialect, messagesDialect } from './messages-dialect.ts'

export type { MessagesCallers, MessagesDialect, MessagesRequest } from './messages-dialect.ts'

/** Cache settings, and which tools code may call. */
export interface AnthropicOptions {
  /** Lifetime of cached prefixes; `false` sets no cache breakpoints. `'5m'` by default. */
  readonly cache?: '5m' | '1h' | false
  /** Tools that code run by the model may call, by name. Only the model calls tools that are not listed. */
  readonly allowedCallers?: MessagesCallers
  /**
   * Defines tools of servers that joined late in the messages, once they are found. Requires the beta
   * `inline-tools-2026-09-15`, which `anthropicModel` requests. By default such tools are called through `call_tool`,
   * which needs no beta. Neither way changes `tools` after the first request.
   */
  readonly inlineTools?: boolean
}

/**
 * Anthropic's Messages API, with native deferral: every deferred tool is sent with `defer_loading` from the first
 * request on, and the matches of `tool_search` are returned as `tool_reference` blocks, so activation never changes
 * the cached prefix. Throws `config-invalid` for an unknown option or value.
 */
export function anthropic(options: AnthropicOptions = {}): MessagesDialect {
  checkOptions<AnthropicOptions>('anthropic()', options, OPTIONS)
  const { cache = '5m', allowedCallers, inlineTools } = options
  return messagesDialect({
    name: 'anthropic',
    strategy: 'native',
    rules: ANTHROPIC_RULES,
    limits: { api: 'Anthropic', maxTools: 10_000, countsDeferred: true },
    cache,
    hasRequestMark: true,
    allowedCallers,
    inlineTools,
    dispatchesLateTools: inlineTools !== true,
  })
}

const OPTIONS: OptionRules<AnthropicOptions> = {
  cache: oneOf('5m', '1h', false),
  allowedCallers: objectOf(textList),
  inlineTools: trueOrFalse,
}
