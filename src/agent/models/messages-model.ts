import type Anthropic from '@anthropic-ai/sdk'
import type { MessagesDialect, MessagesRequest } from '../../dialects/anthropic.ts'
import { type Model, readAnswer } from '../model.ts'
import { UNSUPPORTED, USE_DISPATCH, withHint } from './error-hint.ts'
import { withHostTools } from './host-tools.ts'

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

/** The parts of a model behind the Messages API. */
export interface MessagesModelOptions {
  readonly id: string
  readonly dialect: MessagesDialect
  readonly maxTokens: number
  readonly params: MessagesParams
  /** Betas that the dialect's requests need. */
  readonly betas?: readonly string[]
  client(): Promise<Pick<Anthropic, 'messages'>>
}

/** A model behind the Messages API, of Anthropic or others. */
export function messagesModel({
  id,
  maxTokens,
  client,
  betas = [],
  ...parts
}: MessagesModelOptions): MessagesModel {
  const { tools: hostTools, ...params } = parts.params
  const dialect = withHostTools(parts.dialect, hostTools)
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
