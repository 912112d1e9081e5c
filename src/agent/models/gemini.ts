import type { Content, FunctionCallingConfigMode, GenerateContentConfig, GoogleGenAI } from '@google/genai'
import { type GeminiRequest, type GeminiResponse, gemini } from '../../dialects/gemini.ts'
import { type Model, readAnswer } from '../model.ts'
import { sdkLoader } from './load-sdk.ts'

/** A model that speaks Gemini's dialect. */
export type GeminiModel = Model<Content, GeminiRequest, GeminiResponse>

/** Which model of Google's, how to reach it, and what else a request says. */
export interface GeminiModelOptions {
  readonly model: string
  /** A client of your own; otherwise one is made of the two below, and of the SDK's environment variables. */
  readonly client?: Pick<GoogleGenAI, 'models'>
  readonly apiKey?: string
  readonly baseURL?: string
  /** More of the config: temperature, thinking, safety settings. */
  readonly params?: Omit<GenerateContentConfig, 'tools' | 'systemInstruction' | 'abortSignal'>
}

/** A Gemini model, through `@google/genai`. */
export function geminiModel({
  model,
  client,
  apiKey,
  baseURL,
  params = {},
}: GeminiModelOptions): GeminiModel {
  const dialect = gemini()
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
    async send({ contents, config }, options) {
      const { models } = await open()
      const chunks = await models.generateContentStream({
        model,
        contents,
        config: {
          ...params,
          ...config,
          ...(options.mayCall || !config.tools ? {} : { toolConfig: NO_CALLS }),
          abortSignal: options.signal,
        },
      })
      return readAnswer(chunks, dialect.openStream(), options)
    },
  }
}

// The SDK's enum is a value, and the SDK is loaded only when it is used.
const NO_CALLS = { functionCallingConfig: { mode: 'NONE' as FunctionCallingConfigMode } }
