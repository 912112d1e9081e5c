import { hashText, isRecord } from '../json.ts'

export { mayBeHinted } from '../search/effects.ts'

/** How many lines are kept for later requests to repeat byte for byte; the oldest are dropped first. */
const MAX_KEPT = 1_000

/** Finds tools for the words of a user; returns a line that names them, or `''`. */
export interface HintSource {
  hint(text: string): Promise<string>
}

/**
 * The hints of one conversation: a line after a user's message that names tools which may fit it. A hint is made once,
 * while its message is the newest one, and repeated in every later request: the bytes before the newest message stay as
 * they were, whether the host keeps the message with the line or without it.
 */
export class TurnHints {
  readonly #source: HintSource
  /** By a hash of the message; `''` where there is nothing to say. */
  readonly #lines = new Map<string, string>()

  constructor(source: HintSource) {
    this.#source = source
  }

  /** The messages with their hints. The messages given are not changed. */
  async added<Message>(messages: readonly Message[]): Promise<readonly Message[]> {
    await this.#look(userText(messages.at(-1)))
    return messages.map((message) => {
      const text = userText(message)
      const line = text === undefined ? undefined : this.#lines.get(hashText(text))
      return line ? withLine(message, line) : message
    })
  }

  async #look(text: string | undefined): Promise<void> {
    if (text === undefined || text.includes(HINT_START)) return
    const key = hashText(text)
    if (this.#lines.has(key)) return
    const line = await this.#source.hint(text)
    for (const oldest of this.#lines.keys()) {
      if (this.#lines.size < MAX_KEPT) break
      this.#lines.delete(oldest)
    }
    this.#lines.set(key, line)
  }
}

const HINT_START = 'Tools that may fit: '

/** A hint is given if the first match is right with the probability `from`, and names up to `most` tools. */
export const HINT_LIMITS = { from: 0.4, most: 3 } as const

/** The line that names tools which may fit a request. */
export function hintLine(names: readonly string[], searchTool: string): string {
  return `${HINT_START}${names.join(', ')}; find more with ${searchTool}`
}

/** Marks of a message that contains results of tools. */
const RESULT_KEYS = ['functionResponse', 'toolResult']
const RESULT_TYPES = ['tool_result', 'tool-result', 'function_call_output', 'tool_search_output']

/** The types of parts with a user's text; parts of Gemini and Bedrock have no type. */
const TEXT_TYPES: readonly unknown[] = ['text', 'input_text', undefined]

/**
 * Returns the words of a user's message in the form of any provider: `content` or `parts`, a text or a list of parts.
 * Undefined for other messages, for results of tools, and for a message without words.
 */
export function userText(message: unknown): string | undefined {
  if (!isRecord(message) || message.role !== 'user') return undefined
  const said = message.content ?? message.parts
  if (typeof said === 'string') return said.trim() === '' ? undefined : said
  if (!Array.isArray(said) || said.some(isResult)) return undefined
  const texts = said.filter(isTextPart).map(({ text }) => text)
  return texts.some((text) => text.trim() !== '') ? texts.join('\n') : undefined
}

/** Returns a copy of a user's message with a line after its last words. */
export function withLine<Message>(message: Message, line: string): Message {
  if (!isRecord(message)) return message
  const key = message.content === undefined ? 'parts' : 'content'
  const said = message[key]
  if (typeof said === 'string') return { ...message, [key]: `${said}\n\n${line}` }
  if (!Array.isArray(said)) return message
  const last = said.findLastIndex(isTextPart)
  const parts = said.map((part, at) => (at === last ? { ...part, text: `${part.text}\n\n${line}` } : part))
  return { ...message, [key]: parts }
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return isRecord(part) && typeof part.text === 'string' && TEXT_TYPES.includes(part.type)
}

function isResult(part: unknown): boolean {
  if (!isRecord(part)) return false
  return RESULT_TYPES.includes(String(part.type)) || RESULT_KEYS.some((key) => part[key] !== undefined)
}
