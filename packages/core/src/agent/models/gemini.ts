import type {
  Content,
  FunctionCallingConfigMode,
  GenerateContentConfig,
  GoogleGenAI,
  Tool,
} from '@google/genai'
import { anyObject, anyText, checkOptions, type OptionRules, required } from '../../check-options.ts'
import { type GeminiRequest, type GeminiResponse, gemini } from '../../dialects/gemini.ts'
import { type Model, readAnswer } from '../model.ts'
import { sdkLoader, withHostTools } from './sdk.ts'

/** A model that speaks Gemini's dialect. */
export type GeminiModel = Model<Content, GeminiRequest, GeminiResponse>

export interface GeminiModelOptions {
  readonly model: string
  /** Your own client; otherwise one is created from the two options below and the SDK's environment variables. */
  readonly client?: Pick<GoogleGenAI, 'models'>
  readonly apiKey?: string
  readonly baseURL?: string
  /** Further fields of the config: temperature, thinking, safety settings, and `tools` that the provider runs. */
  readonly params?: Omit<GenerateContentConfig, 'tools' | 'systemInstruction' | 'abortSignal'> & {
    readonly tools?: readonly Tool[]
  }
}

/** A Gemini model, through `@google/genai`. Throws `config-invalid` for an unknown option or value. */
export function geminiModel(options: GeminiModelOptions): GeminiModel {
  checkOptions<GeminiModelOptions>('geminiModel()', options, OPTIONS)
  const { model, client, apiKey, baseURL, params = {} } = options
  const { tools: hostTools, ...settings } = params
  const dialect = withHostTools(gemini(), hostTools)
  const open = sdkLoader('@google/genai', async () => {
    if (client) return client
    const { GoogleGenAI: Client } = await import('@google/genai')
    return new Client({
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(baseURL === undefined ? {} : { httpOptions: { baseUrl: baseURL } }),
    })
  })
  return {
    id: model,
    dialect,
    async send({ contents, config }, sendOptions) {
      const { models } = await open()
      const headers = new FailureHeaders()
      // The host's client may have its own fetch, which must not be replaced.
      const httpOptions = client ? settings.httpOptions : { fetch: headers.fetch, ...settings.httpOptions }
      try {
        const chunks = await models.generateContentStream({
          model,
          contents,
          config: {
            ...settings,
            ...config,
            ...(httpOptions ? { httpOptions } : {}),
            // The host's settings for the provider's own tools are kept: the history needs them.
            ...(sendOptions.mayCall || !config.tools
              ? {}
              : { toolConfig: { ...settings.toolConfig, ...NO_CALLS } }),
            abortSignal: sendOptions.signal,
          },
        })
        return await readAnswer(chunks, dialect.openStream(), sendOptions)
      } catch (error) {
        throw headers.addTo(error)
      }
    },
  }
}

/** Keeps the headers of a refused request, which say when to retry: the SDK's errors do not include them. */
class FailureHeaders {
  #headers: Headers | undefined

  readonly fetch: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    if (!response.ok) this.#headers = response.headers
    return response
  }

  addTo(error: unknown): unknown {
    if (this.#headers && error instanceof Error && !('headers' in error))
      Object.assign(error, { headers: this.#headers })
    return error
  }
}

// The SDK's enum is a value, and the SDK is loaded only when it is used.
const NO_CALLS = { functionCallingConfig: { mode: 'NONE' as FunctionCallingConfigMode } }

const OPTIONS: OptionRules<GeminiModelOptions> = {
  model: required(anyText),
  client: anyObject,
  apiKey: anyText,
  baseURL: anyText,
  params: anyObject,
}
