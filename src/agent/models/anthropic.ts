import type Anthropic from '@anthropic-ai/sdk'
import {
  anyObject,
  anyText,
  anyValue,
  checkOptions,
  type OptionRules,
  required,
  wholeNumber,
} from '../../check-options.ts'
import { type AnthropicOptions, anthropic } from '../../dialects/anthropic.ts'
import { sdkLoader } from './load-sdk.ts'
import { type MessagesModel, type MessagesParams, messagesModel } from './messages-model.ts'

/** Options of `anthropicModel()`. */
export interface AnthropicModelOptions extends AnthropicOptions {
  readonly model: string
  /** Your own client; otherwise one is created from the two options below and the SDK's environment variables. */
  readonly client?: Pick<Anthropic, 'messages'>
  readonly apiKey?: string
  readonly baseURL?: string
  /** The longest answer; 8,192. */
  readonly maxTokens?: number
  /** Further fields of the request: temperature, thinking, metadata, and `tools` that the provider runs. */
  readonly params?: MessagesParams
}

/** An Anthropic model, through `@anthropic-ai/sdk`. Throws `config-invalid` for an unknown option or value. */
export function anthropicModel(options: AnthropicModelOptions): MessagesModel {
  checkOptions<AnthropicModelOptions>('anthropicModel()', options, OPTIONS)
  const { model, client, apiKey, baseURL, maxTokens = 8192, params = {}, ...dialectOptions } = options
  return messagesModel({
    id: model,
    dialect: anthropic(dialectOptions),
    maxTokens,
    params,
    betas: dialectOptions.inlineTools ? ['inline-tools-2026-09-15'] : [],
    client: sdkLoader('@anthropic-ai/sdk', async () => {
      if (client) return client
      const { Anthropic: Client } = await import('@anthropic-ai/sdk')
      return new Client({
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(baseURL === undefined ? {} : { baseURL }),
      })
    }),
  })
}

const OPTIONS: OptionRules<AnthropicModelOptions> = {
  model: required(anyText),
  client: anyObject,
  apiKey: anyText,
  baseURL: anyText,
  maxTokens: wholeNumber({ from: 1 }),
  params: anyObject,
  // The dialect checks these.
  cache: anyValue,
  allowedCallers: anyValue,
  inlineTools: anyValue,
}
