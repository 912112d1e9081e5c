import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { Session } from '../../packages/core/src/session/session.ts'
import type { CallResult } from '../../packages/core/src/tool.ts'

/** One conversation, turn by turn, until the model asks for nothing more. Gives the text it ended with. */
export async function converse<Message, Request, Response, StreamEvent>(options: {
  readonly dialect: Dialect<Message, Request, Response, StreamEvent>
  readonly session: Session
  readonly messages: Message[]
  send(request: Request): Promise<Response>
  onResults?(results: readonly CallResult[]): void
}): Promise<string> {
  const { dialect, session, messages, send } = options
  for (let turn = 0; turn < 50; turn++) {
    const surface = session.surface()
    const note = session.promptNote()
    const response = await send(dialect.toRequest({ surface, messages, system: 'Be brief.', note }))
    const reply = dialect.toReply(response, surface)
    const results = await session.execute(reply.calls)
    options.onResults?.(results)
    messages.push(...dialect.toMessages(response, results, surface))
    if (reply.calls.length === 0 && reply.unrunnable.length === 0) return reply.text
  }
  throw new Error('the conversation did not end')
}
