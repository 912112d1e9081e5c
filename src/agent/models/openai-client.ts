import type OpenAI from 'openai'
import { anyObject, anyText, type OptionRules } from '../../check-options.ts'
import { sdkLoader } from './load-sdk.ts'

/** How to reach a server with OpenAI's API. */
export interface OpenAiClientOptions {
  /** Your own client; otherwise one is created from the two options below and the SDK's environment variables. */
  readonly client?: OpenAI
  readonly apiKey?: string
  /** The address of a server with OpenAI's API. Without an `apiKey` it gets no key, not even the environment's. */
  readonly baseURL?: string
}

export const CLIENT_RULES: OptionRules<OpenAiClientOptions> = {
  client: anyObject,
  apiKey: anyText,
  baseURL: anyText,
}

/** Creates a client of the `openai` package on first use. */
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
