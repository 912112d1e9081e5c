import { COMPATIBLE_RULES } from '../schema/translate/schema-rules.ts'
import { type MessagesDialect, messagesDialect } from './messages-dialect.ts'

export type { MessagesDialect, MessagesRequest } from './messages-dialect.ts'

/**
 * MiniMax, through its Messages endpoint. It cannot defer, so the surface stays constant and found tools are called
 * through `call_tool`. The model loses its thread unless its thinking is replayed: append all that `toMessages`
 * returns.
 */
export function minimax(): MessagesDialect {
  return messagesDialect({
    name: 'minimax',
    strategy: 'dispatch',
    rules: COMPATIBLE_RULES,
    limits: { api: 'MiniMax', maxTools: Number.POSITIVE_INFINITY },
    cache: '5m',
    hasRequestMark: false,
  })
}
