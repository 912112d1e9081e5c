import { anyList, anyText, checkOptions, type OptionRules, trueOrFalse } from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import type { Reply } from '../reply.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { SessionDialect } from './settings.ts'
import type { Surface } from './surface.ts'

/** What a turn needs of a provider's dialect. */
export interface TurnDialect<
  Message = unknown,
  Request = unknown,
  Response = unknown,
  Chunk = unknown,
  HostTool = unknown,
> extends SessionDialect {
  toRequest(input: {
    readonly surface: Surface
    readonly messages: readonly Message[]
    readonly system?: string | undefined
    readonly note?: string | undefined
    readonly hostTools?: readonly HostTool[] | undefined
    readonly cacheKey?: string | undefined
  }): Request
  toReply(response: Response, surface: Surface): Reply
  toMessages(response: Response, results: readonly CallResult[], surface: Surface): readonly Message[]
  openStream(): { add(chunk: Chunk): string; response(): Response }
}

/** What a turn needs of its session. Implemented by `Session`. */
interface TurnSession<Dialect> {
  readonly id: string
  readonly settings: { readonly dialect?: Dialect | undefined }
  surface(hostTools?: number): Surface
  surfaceAfter(before: Surface): Surface
  promptNote(): string
  execute(calls: readonly ToolCall[]): Promise<readonly CallResult[]>
}

export type MessageOf<Dialect> =
  Dialect extends TurnDialect<infer Message, infer _R, infer _S, infer _C, infer _H> ? Message : unknown
type RequestOf<Dialect> =
  Dialect extends TurnDialect<infer _M, infer Request, infer _S, infer _C, infer _H> ? Request : unknown
type ResponseOf<Dialect> =
  Dialect extends TurnDialect<infer _M, infer _R, infer Response, infer _C, infer _H> ? Response : unknown
type ChunkOf<Dialect> =
  Dialect extends TurnDialect<infer _M, infer _R, infer _S, infer Chunk, infer _H> ? Chunk : unknown
export type HostToolOf<Dialect> =
  Dialect extends TurnDialect<infer _M, infer _R, infer _S, infer _C, infer HostTool> ? HostTool : unknown

/** What goes into a request besides the messages. */
export interface TurnRequestOptions<HostTool = unknown> {
  /** The host's system prompt; the session's note is put after it. */
  readonly system?: string
  /**
   * true: searches the user's newest message and appends one line to it, "Tools that may fit: …", if tools probably fit.
   * `turn()` then returns a promise. Needs a searcher that knows how certain it is, such as `hybrid`.
   */
  readonly hint?: boolean
  /**
   * The provider's own tools, such as web search, in its format. They precede the session's, so keep them constant for the
   * whole conversation.
   */
  readonly hostTools?: readonly HostTool[]
}

const RULES: OptionRules<TurnRequestOptions> = { system: anyText, hint: trueOrFalse, hostTools: anyList }

/**
 * One turn of a conversation, with the session's dialect.
 *
 * Streaming: pass the provider's chunks to `stream`, show the texts it yields, then call `answer()` without a response.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk'
 * import { ToolRegistry } from 'toolcrib'
 * import { anthropic } from 'toolcrib/anthropic'
 *
 * const client = new Anthropic()
 * const session = await new ToolRegistry().openSession({ dialect: anthropic() })
 * const messages = [anthropic().userMessage('Hello')]
 * const turn = session.turn(messages)
 * const response = await client.messages.create({ model: 'claude-sonnet-4-6', max_tokens: 1024, ...turn.request })
 * messages.push(...(await turn.answer(response)))
 */
export class Turn<Dialect extends SessionDialect = SessionDialect> {
  /** What the model sees in this turn. */
  readonly surface: Surface
  /** The tools, system prompt and messages in the provider's own shape, ready to be spread into its client. */
  readonly request: RequestOf<Dialect>
  readonly #session: TurnSession<Dialect>
  readonly #dialect: TurnDialect<
    MessageOf<Dialect>,
    RequestOf<Dialect>,
    ResponseOf<Dialect>,
    ChunkOf<Dialect>,
    HostToolOf<Dialect>
  >
  #streamed: { readonly response: ResponseOf<Dialect> } | undefined
  #reply: Reply | undefined
  #answered:
    | { readonly response: ResponseOf<Dialect>; readonly messages: Promise<readonly MessageOf<Dialect>[]> }
    | undefined

  constructor(
    session: TurnSession<Dialect>,
    messages: readonly MessageOf<Dialect>[],
    options: TurnRequestOptions<HostToolOf<Dialect>>,
  ) {
    checkOptions<TurnRequestOptions>('turn()', options, RULES)
    const dialect = session.settings.dialect
    if (!isTurnDialect<Dialect>(dialect))
      throw new ToolcribError(
        'config-invalid',
        'turn() needs a dialect; open the session with one, such as openSession({ dialect: anthropic() })',
      )
    this.#session = session
    this.#dialect = dialect
    this.surface = session.surface(options.hostTools?.length)
    this.request = dialect.toRequest({
      surface: this.surface,
      messages,
      system: options.system,
      ...(options.hostTools === undefined ? {} : { hostTools: options.hostTools }),
      note: session.promptNote(),
      cacheKey: session.id,
    })
  }

  /** What the model said, once `answer()` has read it: its text, its calls, why it stopped, what it cost. */
  get reply(): Reply | undefined {
    return this.#reply
  }

  /** Puts a streamed response together. Yields each piece of text as it comes; then call `answer()`. */
  async *stream(
    chunks: AsyncIterable<ChunkOf<Dialect>> | Iterable<ChunkOf<Dialect>>,
  ): AsyncGenerator<string, void, undefined> {
    const reader = this.#dialect.openStream()
    try {
      for await (const chunk of chunks) {
        const text = reader.add(chunk)
        if (text !== '') yield text
      }
    } finally {
      // Even if the stream broke: what arrived before can still be answered.
      this.#streamed = { response: reader.response() }
    }
  }

  /**
   * Runs the calls of a response (of the streamed one when absent) and returns the messages to append: the model's own,
   * and a result for each of its calls. Without calls it is only the model's own. Calling it again with the same response
   * runs nothing and returns the same messages.
   */
  async answer(response?: ResponseOf<Dialect>): Promise<MessageOf<Dialect>[]> {
    const given = response === undefined ? this.#streamed : { response }
    if (given === undefined)
      throw new ToolcribError('config-invalid', 'answer() needs a response, or stream() before it')
    if (this.#answered?.response !== given.response)
      this.#answered = { response: given.response, messages: this.#run(given.response) }
    return [...(await this.#answered.messages)]
  }

  async #run(response: ResponseOf<Dialect>): Promise<readonly MessageOf<Dialect>[]> {
    const reply = this.#dialect.toReply(response, this.surface)
    this.#reply = reply
    // The calls of a model that declined are not to be run; the dialect answers them with the reason.
    const results = reply.stop === 'refused' ? [] : await this.#session.execute(reply.calls)
    return this.#dialect.toMessages(response, results, this.#session.surfaceAfter(this.surface))
  }
}

function isTurnDialect<Dialect>(
  dialect: SessionDialect | undefined,
): dialect is TurnDialect<
  MessageOf<Dialect>,
  RequestOf<Dialect>,
  ResponseOf<Dialect>,
  ChunkOf<Dialect>,
  HostToolOf<Dialect>
> {
  const methods = ['toRequest', 'toReply', 'toMessages', 'openStream'] as const
  return (
    dialect !== undefined && methods.every((method) => typeof Reflect.get(dialect, method) === 'function')
  )
}
