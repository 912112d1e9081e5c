import { isSearchTool } from '../names.ts'
import type { Reply } from '../reply.ts'
import type { SchemaLoss } from '../schema/translate/schema-node.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import { type CallResult, type ToolCall, UNTRUSTED_NOTE } from '../tool.ts'

/**
 * A provider's wire format, as pure functions: no network, no SDK. The host keeps the messages and sends the requests.
 *
 * ```ts
 * const surface = session.surface()
 * const response = await client.send(dialect.toRequest({ surface, note: session.promptNote(), messages }))
 * const results = await session.execute(dialect.toCalls(response, surface))
 * messages.push(...dialect.toMessages(response, results, surface))
 * ```
 */
export interface Dialect<
  Message = unknown,
  Request = unknown,
  Response = unknown,
  StreamEvent = unknown,
  HostTool = unknown,
> {
  readonly name: string
  /** How a surface grows with this provider, for `openSession({ dialect })`. */
  readonly strategy: Strategy
  /**
   * Builds the tools, system prompt and messages of a request, ready to spread into it. Accepts any history that
   * `toMessages` and `userMessage` built, including one that ends with the model's message: whatever the provider
   * would reject is repaired in the copy that is sent, deterministically. Throws `config-invalid` if there are more
   * tools than the provider allows.
   */
  toRequest(input: RequestInput<Message, HostTool>): Request
  /** Reads the model's answer: its text, its calls, why it stopped and its token usage. */
  toReply(response: Response, surface: Surface): Reply
  /** The calls to run, under their registered names. */
  toCalls(response: Response, surface: Surface): readonly ToolCall[]
  /**
   * The messages to append: the model's answer in the form to replay, and a result for each of its calls. A call
   * without a result (unreadable, cut off, not run) gets the reason as its result, so no call stays open.
   */
  toMessages(response: Response, results: readonly CallResult[], surface: Surface): readonly Message[]
  /** Builds a user message. */
  userMessage(text: string): Message
  /** Returns a reader that assembles a response from stream events. */
  openStream(): StreamReader<StreamEvent, Response>
  /**
   * What the tools' schemas and descriptions lost in translation. Arguments are still validated against the
   * originals.
   */
  lossesOf(surface: Surface): readonly ToolLoss[]
}

/** The input of a request: the tools to show and the conversation so far. */
export interface RequestInput<Message, HostTool = unknown> {
  readonly surface: Surface
  readonly messages: readonly Message[]
  /** The host's system prompt. */
  readonly system?: string | undefined
  /** `session.promptNote()`; follows the system prompt. */
  readonly note?: string | undefined
  /**
   * The host's own tools in the provider's format, such as web search or code execution. They precede the session's
   * tools, so keep them constant for the whole conversation: a change invalidates the prompt cache.
   */
  readonly hostTools?: readonly HostTool[] | undefined
  /** Identifies the conversation, for providers that route requests to a cache by key. */
  readonly cacheKey?: string | undefined
}

/** Assembles a response. If the stream is cut, the response omits unfinished calls. */
export interface StreamReader<StreamEvent, Response> {
  /** Adds one event and returns the text in it, `''` if none. Ignores unknown events. */
  add(event: StreamEvent): string
  response(): Response
}

/** A loss in one tool's definition. */
export interface ToolLoss extends SchemaLoss {
  readonly tool: string
}

/**
 * Joins the host's system prompt, the session's note and `more`; `''` if all are empty. Adds the warning about
 * servers without `trust` if no search tool shows it.
 */
export function systemText(
  { system, note, surface }: Omit<RequestInput<unknown>, 'messages'>,
  more = '',
): string {
  const texts = [system, note, ...(isExplained(surface, note) ? [] : [UNTRUSTED_NOTE]), more]
  return texts.filter((text) => text !== undefined && text !== '').join('\n\n')
}

function isExplained({ untrustedServers = [], tools }: Surface, note = ''): boolean {
  if (untrustedServers.length === 0 || note.includes(UNTRUSTED_NOTE)) return true
  // Names of meta-tools are reserved, so their descriptions are ours; any other description may come from a server.
  return tools.some(({ name, description }) => isSearchTool(name) && description.endsWith(UNTRUSTED_NOTE))
}
