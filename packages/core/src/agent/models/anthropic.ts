import { anyValue, checkOptions, type OptionRules } from '../../check-options.ts'
import { type AnthropicOptions, anthropic } from '../../dialects/anthropic.ts'
import {
  MESSAGES_RULES,
  type MessagesModel,
  type MessagesModelOptions,
  messagesModel,
} from './messages-model.ts'

/** Options of `anthropicModel()`. A client that it creates also reads the SDK's environment variables. */
export interface AnthropicModelOptions extends AnthropicOptions, MessagesModelOptions {}

/** An Anthropic model, through `@anthropic-ai/sdk`. Throws `config-invalid` for an unknown option or value. */
export function anthropicModel(options: AnthropicModelOptions): MessagesModel {
  checkOptions<AnthropicModelOptions>('anthropicModel()', options, OPTIONS)
  const { model, client, apiKey, baseURL, maxTokens, params, ...dialectOptions } = options
  return messagesModel(options, {
    dialect: anthropic(dialectOptions),
    betas: dialectOptions.inlineTools ? ['inline-tools-2026-09-15'] : [],
    settings: {
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(baseURL === undefined ? {} : { baseURL }),
    },
  })
}

const OPTIONS: OptionRules<AnthropicModelOptions> = {
  ...MESSAGES_RULES,
  // The dialect checks these.
  cache: anyValue,
  allowedCallers: anyValue,
  inlineTools: anyValue,
}
