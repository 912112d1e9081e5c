import type OpenAI from 'openai'
import { anyObject, anyText, type OptionRules } from '../../check-options.ts'
import { sdkLoader } from './load-sdk.ts'

/** How to reach a server that speaks OpenAI's API. */
export interface OpenAiClientOptions {
  /** A client of your own; otherwise one is made of the two below, and of the SDK's environment variables. */
  readonly client?: OpenAI
  readonly apiKey?: string
  /** Of a server that speaks OpenAI's API. Without an `apiKey` it gets no key, not even the environment's. */
  readonly baseURL?: string
}

export const CLIENT_RULES: OptionRules<OpenAiClientOptions> = {
  client: anyObject,
  apiKey: anyText,
  baseURL: anyText,
}

/** Opens a client of the `openai` package on first use. */
export function openAiClient({ client, apiKey, baseURL }: OpenAiClientOptions): () => Promise<OpenAI> {
  return sdkLoader('openai', async () => {
    if (client) return client
    const { OpenAI: Client } = await import('openai')
    const key = apiKey ?? (baseURL === undefined ? undefined : 'none')
    return new Client({
      ...(key === undefined ? {} : { apiKey: key }),
      ...(baseURL === undefined ? {} : { baseURL }),
    })
  })
}
