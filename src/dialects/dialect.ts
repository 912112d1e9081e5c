import type { SearchToolName } from '../meta-tools/search-session.ts'
import type { Reply } from '../reply.ts'
import type { SchemaLoss } from '../schema/translate/schema-node.ts'
import type { Strategy, Surface } from '../session/surface.ts'
import { type CallResult, type ToolCall, UNTRUSTED_NOTE } from '../tool.ts'

/**
 * A provider's wire form, as pure functions: no network, no SDK, no state of the conversation. The host keeps the
 * messages and sends the requests.
 *
 * ```ts
 * const surface = session.surface()
 * const response = await client.send(dialect.toRequest({ surface, note: session.promptNote(), messages }))
 * const results = await session.execute(dialect.toCalls(response, surface))
 * messages.push(...dialect.toMessages(response, results, surface))
 * ```
 */
export interface Dialect<Message = unknown, Request = unknown, Response = unknown, StreamEvent = unknown> {
  readonly name: string
  /** How a surface should grow here, for `openSession({ dialect })`. */
  readonly strategy: Strategy
  /** The tools, the system prompt and the messages of a request, ready to be spread into it. */
  toRequest(turn: Turn<Message>): Request
  /** What the model answered: its words, its calls, why it stopped and what it cost. */
  toReply(response: Response, surface: Surface): Reply
  /** The calls to run, under their registered names. */
  toCalls(response: Response, surface: Surface): readonly ToolCall[]
  /**
   * What to append to the messages: the model's answer as it must be replayed, and an answer to each of its calls.
   * A call without a result (unreadable, cut off, not run) is answered with the reason, so no call is left open.
   */
  toMessages(response: Response, results: readonly CallResult[], surface: Surface): readonly Message[]
  /** A message of the user. */
  userMessage(text: string): Message
  /** Puts a response together from the events of a stream. */
  openStream(): StreamReader<StreamEvent, Response>
  /** What the provider cannot be told of the tools' schemas. Arguments are still checked against the originals. */
  lossesOf(surface: Surface): readonly ToolLoss[]
}

/** One turn: what is shown, what was said. */
export interface Turn<Message> {
  readonly surface: Surface
  readonly messages: readonly Message[]
  /** The host's system prompt. */
  readonly system?: string | undefined
  /** `session.promptNote()`; stands after the system prompt. */
  readonly note?: string | undefined
}

/** Assembles a response. A stream that is cut leaves a response without the calls that were not finished. */
export interface StreamReader<StreamEvent, Response> {
  /** Takes one event and gives the text it brought, `''` for none. */
  add(event: StreamEvent): string
  response(): Response
}

/** A loss in the schema of one tool. */
export interface ToolLoss extends SchemaLoss {
  readonly tool: string
}

/**
 * The host's system prompt and the session's note, as one text; `''` when there is neither. A surface with tools of
 * servers without `trust` and no search tool to say so is explained here.
 */
export function systemText({ system, note, surface }: Omit<Turn<unknown>, 'messages'>): string {
  const texts = [system, note, ...(isExplained(surface, note) ? [] : [UNTRUSTED_NOTE])]
  return texts.filter((text) => text !== undefined && text !== '').join('\n\n')
}

function isExplained({ untrustedServers = [], tools }: Surface, note = ''): boolean {
  if (untrustedServers.length === 0 || note.includes(UNTRUSTED_NOTE)) return true
  return tools.some(({ name, description }) => SEARCH_TOOLS.has(name) && description.endsWith(UNTRUSTED_NOTE))
}

/** Only these explain: their names are reserved, while any other description may be a server's own words. */
const SEARCH_TOOLS: ReadonlySet<string> = new Set<SearchToolName>([
  'tool_search',
  'tool_search_regex',
  'ToolSearch',
])
