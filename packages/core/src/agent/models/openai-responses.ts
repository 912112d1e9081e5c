import type OpenAI from 'openai'
import {
  anyObject,
  anyText,
  anyValue,
  checkOptions,
  type OptionRules,
  required,
} from '../../check-options.ts'
import {
  type OpenAiResponsesOptions,
  openaiResponses,
  type ResponsesRequest,
} from '../../dialects/openai-responses.ts'
import { type Model, readAnswer } from '../model.ts'
import {
  CLIENT_RULES,
  type OpenAiClientOptions,
  openAiClient,
  UNSUPPORTED,
  USE_DISPATCH,
  withHint,
  withHostTools,
} from './sdk.ts'

/** A model that speaks the Responses API. */
export type OpenAiResponsesModel = Model<
  OpenAI.Responses.ResponseInputItem,
  ResponsesRequest,
  OpenAI.Responses.Response
>

export interface OpenAiResponsesModelOptions extends OpenAiResponsesOptions, OpenAiClientOptions {
  readonly model: string
  /**
   * Further fields of the request: reasoning, temperature, limits, a `prompt_cache_key` in place of the session's id,
   * and `tools` that the provider runs, which join the session's. To store nothing, set `{ store: false }`, and for
   * reasoning models also `include: ['reasoning.encrypted_content']`.
   */
  readonly params?: Partial<
    Omit<OpenAI.Responses.ResponseCreateParamsStreaming, 'model' | 'stream' | keyof ResponsesRequest> &
      Pick<OpenAI.Responses.ResponseCreateParamsStreaming, 'tools' | 'prompt_cache_key'>
  >
}

/**
 * A model behind OpenAI's Responses API, through the `openai` package. Throws `config-invalid` for an unknown option or
 * value.
 */
export function openaiResponsesModel(options: OpenAiResponsesModelOptions): OpenAiResponsesModel {
  checkOptions<OpenAiResponsesModelOptions>('openaiResponsesModel()', options, OPTIONS)
  const { model, client, apiKey, baseURL, params: allParams = {}, ...dialectOptions } = options
  const { tools: hostTools, prompt_cache_key: cacheKey, ...params } = allParams
  const dialect = withHostTools(openaiResponses(dialectOptions), hostTools)
  const open = openAiClient(options)
  return {
    id: model,
    dialect,
    async send(request, sendOptions) {
      const { responses } = await open()
      const create = (sent: ResponsesRequest) =>
        responses.create(
          {
            model,
            ...params,
            ...sent,
            ...(cacheKey === undefined ? {} : { prompt_cache_key: cacheKey }),
            ...(sendOptions.mayCall || sent.tools.length === 0 ? {} : { tool_choice: 'none' }),
            stream: true,
          },
          { signal: sendOptions.signal, maxRetries: 0 },
        )
      const events = await create(request).catch((error: unknown) => {
        if (isForgotten(error)) return create({ ...request, input: withoutStored(request.input) })
        throw withHint(error, [/tool_search/, UNSUPPORTED], USE_DISPATCH)
      })
      return readAnswer(events, dialect.openStream(), sendOptions)
    },
  }
}

/** OpenAI keeps items for 30 days, or not at all for organizations without data retention. */
function isForgotten(error: unknown): boolean {
  if (!(error instanceof Error) || !('status' in error)) return false
  return (error.status === 400 || error.status === 404) && /item with id .+ not found/i.test(error.message)
}

/** The complete items, without references to the provider's copy. */
function withoutStored(input: ResponsesRequest['input']): ResponsesRequest['input'] {
  return input.flatMap((item): ResponsesRequest['input'] => {
    if (item.type === 'reasoning') return []
    if ((item.type !== 'message' && item.type !== 'function_call') || !('id' in item)) return [item]
    const { id: _, ...rest } = item
    return [rest as typeof item]
  })
}

const OPTIONS: OptionRules<OpenAiResponsesModelOptions> = {
  ...CLIENT_RULES,
  model: required(anyText),
  params: anyObject,
  // The dialect checks these.
  allowedCallers: anyValue,
  maxTools: anyValue,
}
