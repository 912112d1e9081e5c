import type { Dialect, StreamReader } from '../dialects/dialect.ts'

/**
 * A model that can be asked: a dialect, and a way to send what the dialect makes. It keeps nothing between requests
 * and does not try again by itself; `runAgent` does both.
 */
export interface Model<Message = unknown, Request = unknown, Response = unknown> {
  /** What the provider calls the model. */
  readonly id: string
  readonly dialect: Dialect<Message, Request, Response>
  /**
   * Sends one request. Rejects when the provider did not take it; once an answer has begun it resolves, with what
   * has arrived and with what broke it off.
   */
  send(request: Request, options: SendOptions): Promise<Answer<Response>>
}

/** What goes with one request: how it is cancelled, whether tools may be called, and who reads along. */
export interface SendOptions {
  readonly signal: AbortSignal
  /** False for a turn without tools: they stay in the request, so that its prefix does, but may not be called. */
  readonly mayCall: boolean
  onText(text: string): void
}

/** What came back: whole, or as far as it came. */
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
