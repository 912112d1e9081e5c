import { isRecord } from '../json.ts'

/** What a message holds when it is not, or not only, the words of a user. */
const RESULT_KEYS = ['functionResponse', 'toolResult']
const RESULT_TYPES = ['tool_result', 'tool-result', 'function_call_output', 'tool_search_output']

/** The kinds of parts that hold a user's text; a part of Gemini or Bedrock has no kind. */
const TEXT_TYPES: readonly unknown[] = ['text', 'input_text', undefined]

/**
 * The words of a user's message, in the shape of any provider: `content` or `parts`, a text or a list of parts. Undefined
 * for messages of others, for results of tools, and where there are no words.
 */
export function userText(message: unknown): string | undefined {
  if (!isRecord(message) || message.role !== 'user') return undefined
  const said = message.content ?? message.parts
  if (typeof said === 'string') return said.trim() === '' ? undefined : said
  if (!Array.isArray(said) || said.some(isResult)) return undefined
  const texts = said.filter(isTextPart).map(({ text }) => text)
  return texts.some((text) => text.trim() !== '') ? texts.join('\n') : undefined
}

/** A copy of a user's message with a line after its last words. The message itself stays as it is. */
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
