import type OpenAI from 'openai'
import { anyObject, anyText, type OptionRules } from '../../check-options.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { ToolcribError } from '../../errors.ts'

/** Loads a provider's SDK on first use. Throws `config-invalid` with the install command when it is missing. */
export function sdkLoader<Client>(packageName: string, load: () => Promise<Client>): () => Promise<Client> {
  let loading: Promise<Client> | undefined
  return () => {
    loading ??= load().catch((cause: unknown) => {
      loading = undefined
      if (!isMissing(cause, packageName)) throw cause
      throw new ToolcribError(
        'config-invalid',
        `the package ${packageName} is not installed; install it with: npm install ${packageName}`,
        { cause },
      )
    })
    return loading
  }
}

function isMissing(cause: unknown, packageName: string): boolean {
  if (!(cause instanceof Error)) return false
  const code = 'code' in cause ? cause.code : undefined
  return (
    (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') && cause.message.includes(packageName)
  )
}

/**
 * Adds a next step to the message of a rejected request (400 or 422) that matches all patterns; other errors are
 * returned unchanged. The SDKs distinguish errors by class, so the error itself is modified.
 */
export function withHint(error: unknown, patterns: readonly RegExp[], hint: string): unknown {
  if (!(error instanceof Error) || !('status' in error)) return error
  if (error.status !== 400 && error.status !== 422) return error
  if (patterns.every((pattern) => pattern.test(error.message))) error.message += `; ${hint}`
  return error
}

/** How servers describe a field, tool or model that they do not support. */
export const UNSUPPORTED = /support|permitted|allowed|unknown|unrecognized|unexpected|invalid/i

/** For models and servers without native deferral. */
export const USE_DISPATCH =
  'this model or server has no tool search: open the session with strategy "dispatch"'

/** A dialect whose requests show the host's own tools before the session's. */
export function withHostTools<Message, Request, Response, StreamEvent, HostTool>(
  dialect: Dialect<Message, Request, Response, StreamEvent, HostTool>,
  hostTools: readonly HostTool[] | undefined,
): Dialect<Message, Request, Response, StreamEvent, HostTool> {
  if (hostTools === undefined || hostTools.length === 0) return dialect
  const { maxTools } = dialect as { maxTools?: number }
  return {
    ...dialect,
    // A session that counts its deferred tools leaves room for these.
    ...(maxTools === undefined ? {} : { maxTools: maxTools - hostTools.length }),
    toRequest: (input) =>
      dialect.toRequest({ ...input, hostTools: [...hostTools, ...(input.hostTools ?? [])] }),
  }
}

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
