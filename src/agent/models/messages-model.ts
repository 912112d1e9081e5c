import type Anthropic from '@anthropic-ai/sdk'
import type { MessagesDialect, MessagesRequest } from '../../dialects/anthropic.ts'
import { type Model, readAnswer } from '../model.ts'

/** A model that speaks the Messages API. */
export type MessagesModel = Model<Anthropic.MessageParam, MessagesRequest, Anthropic.Message>

/** What a request of the Messages API may say beside what the dialect makes. */
export type MessagesParams = Partial<
  Omit<Anthropic.MessageCreateParamsStreaming, 'model' | 'stream' | keyof MessagesRequest>
>

/** What a model behind the Messages API is made of. */
export interface MessagesModelParts {
  readonly id: string
  readonly dialect: MessagesDialect
  readonly maxTokens: number
  readonly params: MessagesParams
  client(): Promise<Pick<Anthropic, 'messages'>>
}

/** A model behind the Messages API, which Anthropic and others speak. */
export function messagesModel({ id, dialect, maxTokens, params, client }: MessagesModelParts): MessagesModel {
  return {
    id,
    dialect,
    async send(request, options) {
      const { messages } = await client()
      const events = await messages.create(
        {
          model: id,
          max_tokens: maxTokens,
          ...params,
          ...request,
          ...(options.mayCall || request.tools.length === 0 ? {} : { tool_choice: { type: 'none' } }),
          stream: true,
        },
        { signal: options.signal, maxRetries: 0 },
      )
      return readAnswer(events, dialect.openStream(), options)
    },
  }
}
