import type Anthropic from '@anthropic-ai/sdk'
import type { ClientOptions } from '@anthropic-ai/sdk'
import { anyObject, anyText, type OptionRules, required, wholeNumber } from '../../check-options.ts'
import type { MessagesDialect, MessagesRequest } from '../../dialects/anthropic.ts'
import { type Model, readAnswer } from '../model.ts'
import { sdkLoader, UNSUPPORTED, USE_DISPATCH, withHint, withHostTools } from './sdk.ts'

/** A model that speaks the Messages API. */
export type MessagesModel = Model<Anthropic.MessageParam, MessagesRequest, Anthropic.Message>

/**
 * Further fields of a Messages API request, besides those of the dialect. `tools` are run by the provider, such as web
 * search; they join the session's. A `container` is used until code has run in another.
 */
export type MessagesParams = Partial<
  Omit<Anthropic.MessageCreateParamsStreaming, 'model' | 'stream' | keyof MessagesRequest> &
    Pick<Anthropic.MessageCreateParamsStreaming, 'tools' | 'container'>
>

export interface MessagesModelOptions {
  readonly model: string
  /** Your own client; otherwise one is created from the two options below. */
  readonly client?: Pick<Anthropic, 'messages'>
  readonly apiKey?: string
  readonly baseURL?: string
  /** The longest answer; 8,192. */
  readonly maxTokens?: number
  /** Further fields of the request: temperature, thinking, metadata, and `tools` that the provider runs. */
  readonly params?: MessagesParams
}

export const MESSAGES_RULES: OptionRules<MessagesModelOptions> = {
  model: required(anyText),
  client: anyObject,
  apiKey: anyText,
  baseURL: anyText,
  maxTokens: wholeNumber({ from: 1 }),
  params: anyObject,
}

/** What distinguishes the providers. */
interface MessagesProvider {
  readonly dialect: MessagesDialect
  /** Betas that the dialect's requests need. */
  readonly betas?: readonly string[]
  /** The settings of a client that the host does not bring. */
  readonly settings: ClientOptions
}

/** A model behind the Messages API, of Anthropic or others, through `@anthropic-ai/sdk`. */
export function messagesModel(
  { model: id, client: own, maxTokens = 8192, params: allParams = {} }: MessagesModelOptions,
  { dialect: plain, betas = [], settings }: MessagesProvider,
): MessagesModel {
  const { tools: hostTools, ...params } = allParams
  const dialect = withHostTools(plain, hostTools)
  const client = sdkLoader('@anthropic-ai/sdk', async () => {
    if (own) return own
    const { Anthropic: Client } = await import('@anthropic-ai/sdk')
    return new Client(settings)
  })
  return {
    id,
    dialect,
    async send(request, options) {
      const { messages } = await client()
      const create = (sent: MessagesRequest) =>
        messages.create(
          {
            model: id,
            max_tokens: maxTokens,
            ...params,
            ...sent,
            ...(options.mayCall || sent.tools.length === 0 ? {} : { tool_choice: { type: 'none' } }),
            stream: true,
          },
          {
            signal: options.signal,
            maxRetries: 0,
            ...(betas.length === 0 ? {} : { headers: { 'anthropic-beta': betas.join(',') } }),
          },
        )
      const events = await create(request).catch((error: unknown) => {
        const { container, ...rest } = request
        if (container !== undefined && isContainerGone(error)) return create(rest)
        throw withHint(error, [/defer_loading|tool_reference/, UNSUPPORTED], USE_DISPATCH)
      })
      return readAnswer(events, dialect.openStream(), options)
    },
  }
}

/**
 * The history keeps the id of a container longer than the provider keeps the container; code then runs in a new one.
 */
function isContainerGone(error: unknown): boolean {
  if (!(error instanceof Error) || !('status' in error)) return false
  if (error.status !== 400 && error.status !== 404) return false
  return /container/i.test(error.message) && /expired|not found|not exist/i.test(error.message)
}
