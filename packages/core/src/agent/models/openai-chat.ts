import type OpenAI from 'openai'
import {
  anyObject,
  anyText,
  anyValue,
  checkOptions,
  type OptionRules,
  required,
} from '../../check-options.ts'
import { type ChatRequest, type OpenAiChatOptions, openaiChat } from '../../dialects/openai-chat.ts'
import { type Model, readAnswer } from '../model.ts'
import { CLIENT_RULES, type OpenAiClientOptions, openAiClient, withHint, withHostTools } from './sdk.ts'

/** A model that speaks Chat Completions. */
export type OpenAiChatModel = Model<OpenAI.ChatCompletionMessageParam, ChatRequest, OpenAI.ChatCompletion>

export interface OpenAiChatModelOptions extends OpenAiChatOptions, OpenAiClientOptions {
  readonly model: string
  /** Further fields of the request: temperature, limits, fields of your server, functions that you run yourself. */
  readonly params?: Partial<
    Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'model' | 'stream' | keyof ChatRequest>
  > &
    Pick<ChatRequest, 'tools'>
}

/**
 * A model behind Chat Completions, of OpenAI or any compatible server, through the `openai` package. Throws
 * `config-invalid` for an unknown option or value.
 */
export function openaiChatModel(options: OpenAiChatModelOptions): OpenAiChatModel {
  checkOptions<OpenAiChatModelOptions>('openaiChatModel()', options, OPTIONS)
  const { model, client, apiKey, baseURL, params: allParams = {}, ...dialectOptions } = options
  const { tools: hostTools, ...params } = allParams
  const dialect = withHostTools(openaiChat(dialectOptions), hostTools)
  const open = openAiClient(options)
  return {
    id: model,
    dialect,
    async send(request, sendOptions) {
      const { chat } = await open()
      const chunks = await chat.completions
        .create(
          {
            model,
            stream_options: { include_usage: true },
            ...params,
            ...request,
            ...(sendOptions.mayCall || !request.tools ? {} : { tool_choice: 'none' }),
            stream: true,
          },
          { signal: sendOptions.signal, maxRetries: 0 },
        )
        .catch((error: unknown) => {
          throw withHint(error, [/reasoning/i, /tool|function/i], USE_RESPONSES)
        })
      return readAnswer(chunks, dialect.openStream(), sendOptions)
    },
  }
}

/** From GPT-5.6 on, OpenAI's reasoning models accept functions only through the Responses API. */
const USE_RESPONSES =
  'this model takes tools with reasoning through the Responses API: use openaiResponsesModel'

const OPTIONS: OptionRules<OpenAiChatModelOptions> = {
  ...CLIENT_RULES,
  model: required(anyText),
  params: anyObject,
  // The dialect checks these.
  maxTools: anyValue,
  maxDescriptionChars: anyValue,
  images: anyValue,
}
