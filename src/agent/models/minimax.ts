import type Anthropic from '@anthropic-ai/sdk'
import {
  anyObject,
  anyText,
  checkOptions,
  type OptionRules,
  required,
  wholeNumber,
} from '../../check-options.ts'
import { minimax } from '../../dialects/minimax.ts'
import { sdkLoader } from './load-sdk.ts'
import { type MessagesModel, type MessagesParams, messagesModel } from './messages-model.ts'

/** Options of `minimaxModel()`. */
export interface MiniMaxModelOptions {
  readonly model: string
  /** Your own client; otherwise one is created from the two options below. */
  readonly client?: Pick<Anthropic, 'messages'>
  readonly apiKey?: string
  /** Default: `https://api.minimax.io/anthropic`. */
  readonly baseURL?: string
  /** The longest answer; 8,192. */
  readonly maxTokens?: number
  readonly params?: MessagesParams
}

/**
 * A MiniMax model, through its Messages endpoint and `@anthropic-ai/sdk`. Throws `config-invalid` for an unknown option
 * or value.
 */
export function minimaxModel(options: MiniMaxModelOptions): MessagesModel {
  checkOptions<MiniMaxModelOptions>('minimaxModel()', options, OPTIONS)
  const { model, client, apiKey = 'none', baseURL = 'https://api.minimax.io/anthropic' } = options
  return messagesModel({
    id: model,
    dialect: minimax(),
    maxTokens: options.maxTokens ?? 8192,
    params: options.params ?? {},
    client: sdkLoader('@anthropic-ai/sdk', async () => {
      if (client) return client
      const { Anthropic: Client } = await import('@anthropic-ai/sdk')
      // Otherwise the SDK would send Anthropic's token from the environment to MiniMax.
      return new Client({ apiKey, baseURL, authToken: null })
    }),
  })
}

const OPTIONS: OptionRules<MiniMaxModelOptions> = {
  model: required(anyText),
  client: anyObject,
  apiKey: anyText,
  baseURL: anyText,
  maxTokens: wholeNumber({ from: 1 }),
  params: anyObject,
}
