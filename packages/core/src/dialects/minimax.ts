import { COMPATIBLE_RULES } from '../schema/translate/schema-rules.ts'
import { type MessagesDialect, messagesDialect } from './messages-dialect.ts'

export type { MessagesDialect, MessagesRequest } from './messages-dialect.ts'

/**
 * MiniMax, through its Messages endpoint. It cannot defer, so the surface stays constant and the model calls found
 * tools through `call_tool`. The model loses track unless its thinking is replayed: append everything `toMessages`
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
