import type OpenAI from 'openai'
import { type ChatRequest, type OpenAiChatOptions, openaiChat } from '../../dialects/openai-chat.ts'
import { type Model, readAnswer } from '../model.ts'
import { withHostTools } from './host-tools.ts'
import { type OpenAiClientOptions, openAiClient } from './openai-client.ts'

/** A model that speaks Chat Completions. */
export type OpenAiChatModel = Model<OpenAI.ChatCompletionMessageParam, ChatRequest, OpenAI.ChatCompletion>

/** Which model behind Chat Completions, how to reach it, and what else a request says. */
export interface OpenAiChatModelOptions extends OpenAiChatOptions, OpenAiClientOptions {
  readonly model: string
  /** More of the request: temperature, limits, fields that your server knows, functions that you run yourself. */
  readonly params?: Partial<
    Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'model' | 'stream' | keyof ChatRequest>
  > &
    Pick<ChatRequest, 'tools'>
}

/** A model behind Chat Completions, of OpenAI or any server that speaks it, through the `openai` package. */
export function openaiChatModel(options: OpenAiChatModelOptions): OpenAiChatModel {
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
          throw withResponsesHint(error)
        })
      return readAnswer(chunks, dialect.openStream(), sendOptions)
    },
  }
}

/** From GPT-5.6 on, OpenAI's models that reason take functions only through the Responses API. */
function withResponsesHint(error: unknown): unknown {
  if (!(error instanceof Error) || !('status' in error) || error.status !== 400) return error
  if (!/reasoning/i.test(error.message) || !/tool|function/i.test(error.message)) return error
  error.message +=
    '; this model takes tools with reasoning through the Responses API: use openaiResponsesModel'
  return error
}
