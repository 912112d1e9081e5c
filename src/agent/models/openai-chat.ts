import type OpenAI from 'openai'
import { type ChatRequest, type OpenAiChatOptions, openaiChat } from '../../dialects/openai-chat.ts'
import { type Model, readAnswer } from '../model.ts'
import { type OpenAiClientOptions, openAiClient } from './openai-client.ts'

/** A model that speaks Chat Completions. */
export type OpenAiChatModel = Model<OpenAI.ChatCompletionMessageParam, ChatRequest, OpenAI.ChatCompletion>

/** Which model behind Chat Completions, how to reach it, and what else a request says. */
export interface OpenAiChatModelOptions extends OpenAiChatOptions, OpenAiClientOptions {
  readonly model: string
  /** More of the request: temperature, limits, fields that a server of yours knows. */
  readonly params?: Partial<
    Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'model' | 'stream' | keyof ChatRequest>
  >
}

/** A model behind Chat Completions, of OpenAI or any server that speaks it, through the `openai` package. */
export function openaiChatModel(options: OpenAiChatModelOptions): OpenAiChatModel {
  const { model, client, apiKey, baseURL, params = {}, ...dialectOptions } = options
  const dialect = openaiChat(dialectOptions)
  const open = openAiClient(options)
  return {
    id: model,
    dialect,
    async send(request, sendOptions) {
      const { chat } = await open()
      const chunks = await chat.completions.create(
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
      return readAnswer(chunks, dialect.openStream(), sendOptions)
    },
  }
}
