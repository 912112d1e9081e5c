import type { SearchToolName } from '../meta-tools/search-session.ts'
import type { Reply } from '../reply.ts'
import type { SchemaLoss } from '../schema/translate/schema-node.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import { type CallResult, type ToolCall, UNTRUSTED_NOTE } from '../tool.ts'

/**
 * A provider's wire form, as pure functions: no network, no SDK. The host keeps the messages and sends the requests.
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
   * The tools, the system prompt and the messages of a request, ready to be spread into it. The messages may be any
   * history that `toMessages` and `userMessage` built, also one that ends in the model's own words: what the provider
   * would refuse is mended in the copy that is sent, the same way every time. Throws `config-invalid` for more tools
   * than the provider takes.
   */
  toRequest(input: RequestInput<Message, HostTool>): Request
  /** What the model answered: its text, its calls, why it stopped and what it cost. */
  toReply(response: Response, surface: Surface): Reply
  /** The calls to run, under their registered names. */
  toCalls(response: Response, surface: Surface): readonly ToolCall[]
  /**
   * What to append to the messages: the model's answer as it must be replayed, and a result for each of its calls.
   * A call without a result (unreadable, cut off, not run) gets the reason as its result, so no call is left open.
   */
  toMessages(response: Response, results: readonly CallResult[], surface: Surface): readonly Message[]
  /** A message of the user. */
  userMessage(text: string): Message
  /** Puts a response together from the events of a stream. */
  openStream(): StreamReader<StreamEvent, Response>
  /** What was lost of the tools' schemas and descriptions. Arguments are still checked against the originals. */
  lossesOf(surface: Surface): readonly ToolLoss[]
}

/** What a request is made of: the tools to show and what was said so far. */
export interface RequestInput<Message, HostTool = unknown> {
  readonly surface: Surface
  readonly messages: readonly Message[]
  /** The host's system prompt. */
  readonly system?: string | undefined
  /** `session.promptNote()`; follows the system prompt. */
  readonly note?: string | undefined
  /**
   * The host's own tools in the provider's form, such as web search or code execution. They come before the
   * session's, so keep them the same for the whole conversation: a change drops the prompt cache.
   */
  readonly hostTools?: readonly HostTool[] | undefined
  /** Names the conversation to providers that route requests to a cache by a key. */
  readonly cacheKey?: string | undefined
}

/** Assembles a response. A stream that is cut leaves a response without the calls that were not finished. */
export interface StreamReader<StreamEvent, Response> {
  /** Takes one event and returns the text in it, `''` for none. Ignores what it does not understand. */
  add(event: StreamEvent): string
  response(): Response
}

/** A loss in the definition of one tool. */
export interface ToolLoss extends SchemaLoss {
  readonly tool: string
}

/**
 * The host's system prompt, the session's note and `more`, as one text; `''` when there is none. Warns of servers
 * without `trust` where no search tool does.
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
  return tools.some(({ name, description }) => SEARCH_TOOLS.has(name) && description.endsWith(UNTRUSTED_NOTE))
}

/** Their names are reserved, while any other tool's description may be a server's own words. */
export const SEARCH_TOOLS: ReadonlySet<string> = new Set<SearchToolName>([
  'tool_search',
  'tool_search_regex',
  'ToolSearch',
])
