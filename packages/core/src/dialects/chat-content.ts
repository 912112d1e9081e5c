import { isRecord } from '../json.ts'
import { readText } from './read-value.ts'

/** The text of a message's content. Mistral's reasoning models send a list of thoughts and texts. */
export function textOfContent(content: unknown): string {
  if (!Array.isArray(content)) return readText(content)
  return content.map((part: unknown) => (isText(part) ? part.text : '')).join('')
}

/** Whether a message has anything to replay. */
export function hasContent(content: unknown): boolean {
  return Array.isArray(content) ? content.length > 0 : readText(content) !== ''
}

/** Removes fields that servers send but reject when they are sent back: `channel` and `executed_tools` of Groq. */
export function withoutOutputFields<Message extends object>(message: Message): Message {
  if (!('channel' in message) && !('executed_tools' in message)) return message
  const { channel: _, executed_tools: __, ...rest } = message as Message & Record<string, unknown>
  return rest as unknown as Message
}

/** Assembles the content of a streamed message: a text, or a list of parts if the server sends one. */
export class ContentPieces {
  #text = ''
  #parts: unknown[] | undefined

  /** Adds a piece and returns the words in it. */
  add(piece: unknown): string {
    const text = textOfContent(piece)
    if (!Array.isArray(piece)) {
      if (this.#parts) this.#join({ type: 'text', text })
      else this.#text += text
      return text
    }
    this.#parts ??= this.#text === '' ? [] : [{ type: 'text', text: this.#text }]
    for (const part of piece) if (isRecord(part)) this.#join(part)
    return text
  }

  /** Null if there is none. A list is outside OpenAI's types. */
  content(): string | null {
    if (this.#parts) return this.#parts.length === 0 ? null : ([...this.#parts] as unknown as string)
    return this.#text === '' ? null : this.#text
  }

  #join(part: Record<string, unknown>): void {
    const parts = this.#parts ?? []
    const last = parts.at(-1)
    const joined = isRecord(last) && last.type === part.type ? joinParts(last, part) : undefined
    if (joined) parts[parts.length - 1] = joined
    else if (!isText(part) || part.text !== '') parts.push(part)
  }
}

/** A part and the one that continues it; undefined if it does not. */
function joinParts(
  last: Record<string, unknown>,
  part: Record<string, unknown>,
): Record<string, unknown> | undefined {
  if (isText(last) && isText(part)) return { ...last, text: last.text + part.text }
  const [before, thought] = [last.thinking, part.thinking]
  if (!Array.isArray(before) || !Array.isArray(thought)) return undefined
  const all: unknown[] = [...before, ...thought]
  const thinking = all.every(isText) ? [{ type: 'text', text: textOfContent(all) }] : all
  return { ...last, ...part, thinking }
}

function isText(part: unknown): part is { text: string } {
  return isRecord(part) && part.type === 'text' && typeof part.text === 'string'
}
