import type OpenAI from 'openai'
import {
  openaiResponses,
  type ResponsesCallers,
  type ResponsesRequest,
} from '../../dialects/openai-responses.ts'
import { type Model, readAnswer } from '../model.ts'
import { withHostTools } from './host-tools.ts'
import { type OpenAiClientOptions, openAiClient } from './openai-client.ts'

/** A model that speaks the Responses API. */
export type OpenAiResponsesModel = Model<
  OpenAI.Responses.ResponseInputItem,
  ResponsesRequest,
  OpenAI.Responses.Response
>

/** Which model behind the Responses API, how to reach it, and what else a request says. */
export interface OpenAiResponsesModelOptions extends OpenAiClientOptions {
  readonly model: string
  /** Tools that programs of the model may call, by name. */
  readonly allowedCallers?: ResponsesCallers
  /**
   * More of the request: reasoning, temperature, limits, `prompt_cache_key`, and `tools` of the provider's own, which
   * join the session's. To store nothing, `{ store: false }`, and for models that reason
   * `include: ['reasoning.encrypted_content']` beside it.
   */
  readonly params?: Partial<
    Omit<OpenAI.Responses.ResponseCreateParamsStreaming, 'model' | 'stream' | keyof ResponsesRequest> &
      Pick<OpenAI.Responses.ResponseCreateParamsStreaming, 'tools' | 'prompt_cache_key'>
  >
}

/** A model behind OpenAI's Responses API, through the `openai` package. */
export function openaiResponsesModel(options: OpenAiResponsesModelOptions): OpenAiResponsesModel {
  const { model, allowedCallers } = options
  const { tools: hostTools, ...params } = options.params ?? {}
  const dialect = withHostTools(openaiResponses(allowedCallers ? { allowedCallers } : {}), hostTools)
  const open = openAiClient(options)
  return {
    id: model,
    dialect,
    async send(request, sendOptions) {
      const { responses } = await open()
      const events = await responses.create(
        {
          model,
          ...params,
          ...request,
          ...(sendOptions.mayCall || request.tools.length === 0 ? {} : { tool_choice: 'none' }),
          stream: true,
        },
        { signal: sendOptions.signal, maxRetries: 0 },
      )
      return readAnswer(events, dialect.openStream(), sendOptions)
    },
  }
}
