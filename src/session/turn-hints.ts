import { hashText } from '../json.ts'
import { userText, withLine } from './user-message.ts'

/** Lines that are kept, so that later requests repeat them byte for byte; further ones are dropped, the oldest first. */
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
export const HINT_LIMITS = { from: 0.35, most: 3 } as const

/** The line that names tools which may fit a request. */
export function hintLine(names: readonly string[], searchTool: string): string {
  return `${HINT_START}${names.join(', ')}; find more with ${searchTool}`
}
