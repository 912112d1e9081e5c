import type { Dialect, StreamReader } from '../dialects/dialect.ts'

/**
 * A model: a dialect, and a way to send the dialect's requests. It keeps no state between requests and does not retry;
 * `runAgent` does both.
 */
export interface Model<Message = unknown, Request = unknown, Response = unknown> {
  /** The provider's name for the model, used to look up prices. */
  readonly id: string
  readonly dialect: Dialect<Message, Request, Response>
  /**
   * Sends one request. Rejects if the provider did not accept it. Once an answer has begun it resolves, with what has
   * arrived and the error that ended it early.
   */
  send(request: Request, options: SendOptions): Promise<Answer<Response>>
}

/** The messages of a model, or of each of several among which the host chooses. */
export type MessageOfModel<SomeModel> =
  SomeModel extends Model<infer Message, infer _Request, infer _Response> ? Message : never

export interface SendOptions {
  readonly signal: AbortSignal
  /** False for a turn without tools: they stay in the request, which keeps its cached prefix, but may not be called. */
  readonly mayCall: boolean
  onText(text: string): void
}

/** The response, complete or as far as it arrived. */
export interface Answer<Response> {
  readonly response: Response
  /** Why the answer ended early. */
  readonly brokenBy?: unknown
}

/** Reads a stream to its end, or to where it breaks. A stream that breaks before its first event rejects. */
export async function readAnswer<StreamEvent, Response>(
  events: AsyncIterable<StreamEvent>,
  reader: StreamReader<StreamEvent, Response>,
  { onText, signal }: Pick<SendOptions, 'onText' | 'signal'>,
): Promise<Answer<Response>> {
  let hasBegun = false
  try {
    for await (const event of events) {
      hasBegun = true
      const text = reader.add(event)
      if (text !== '') onText(text)
      if (signal.aborted) break
    }
  } catch (brokenBy) {
    if (!hasBegun) throw brokenBy
    return { response: reader.response(), brokenBy }
  }
  return { response: reader.response() }
}
