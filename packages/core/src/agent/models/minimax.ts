import { checkOptions } from '../../check-options.ts'
import { minimax } from '../../dialects/minimax.ts'
import {
  MESSAGES_RULES,
  type MessagesModel,
  type MessagesModelOptions,
  messagesModel,
} from './messages-model.ts'

/** Options of `minimaxModel()`. `baseURL` is `https://api.minimax.io/anthropic` by default. */
export interface MiniMaxModelOptions extends MessagesModelOptions {}

/**
 * A MiniMax model, through its Messages endpoint and `@anthropic-ai/sdk`. Throws `config-invalid` for an unknown option
 * or value.
 */
export function minimaxModel(options: MiniMaxModelOptions): MessagesModel {
  checkOptions<MiniMaxModelOptions>('minimaxModel()', options, MESSAGES_RULES)
  const { apiKey = 'none', baseURL = 'https://api.minimax.io/anthropic' } = options
  // Otherwise the SDK would send Anthropic's token from the environment to MiniMax.
  return messagesModel(options, { dialect: minimax(), settings: { apiKey, baseURL, authToken: null } })
}
