import { isRecord } from '../json.ts'
import type { BedrockBlock, BedrockMessage } from './bedrock-types.ts'
import { CallIds, GO_ON, withUserTurns } from './mend-history.ts'
import { readText } from './read-value.ts'

/**
 * Repairs a history for Converse: call ids and names of documents are unique, the last message is the user's, roles
 * alternate, and bytes that were serialised as JSON are bytes again.
 */
export function mendConverse(messages: readonly BedrockMessage[]): BedrockMessage[] {
  const ids = new CallIds()
  const names = new Set<string>()
  const mended = messages.map(({ role, content }) => ({
    role,
    content: content.map((block) => withBytes(withOwnNames(withOwnId(block, ids), names)) as BedrockBlock),
  }))
  const isModels = ({ role }: BedrockMessage) => role === 'assistant'
  return alternating(withUserTurns(mended, isModels, { role: 'user', content: [{ text: GO_ON }] }))
}

function withOwnId(block: BedrockBlock, ids: CallIds): BedrockBlock {
  if ('toolUse' in block && block.toolUse) {
    const { toolUse } = block
    return { toolUse: { ...toolUse, toolUseId: ids.ofCall(toolUse.toolUseId) } }
  }
  if (!('toolResult' in block) || !block.toolResult) return block
  const { toolResult } = block
  return { toolResult: { ...toolResult, toolUseId: ids.ofResult(toolResult.toolUseId) } }
}

/** Names the documents of a block, and those of a result, apart from all earlier ones. */
function withOwnNames<Block extends object>(block: Block, names: Set<string>): Block {
  if ('toolResult' in block && isRecord(block.toolResult) && Array.isArray(block.toolResult.content)) {
    const content = block.toolResult.content.map((part: object) => withOwnNames(part, names))
    return { ...block, toolResult: { ...block.toolResult, content } }
  }
  if (!('document' in block) || !isRecord(block.document)) return block
  const given = readText(block.document.name)
  let name = given
  for (let count = 2; names.has(name); count++) name = `${given}-${count}`
  names.add(name)
  return name === given ? block : { ...block, document: { ...block.document, name } }
}

/** Fields with bytes; JSON turns them into objects with an entry per byte. */
const BYTES: ReadonlySet<string> = new Set(['bytes', 'redactedContent'])

function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes)
  if (!isRecord(value) || value instanceof Uint8Array) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      // A tool's input is not interpreted.
      if (key === 'input') return [key, inner]
      const isLost = BYTES.has(key) && isRecord(inner) && !(inner instanceof Uint8Array)
      return [key, isLost ? Uint8Array.from(Object.values(inner).map(Number)) : withBytes(inner)]
    }),
  )
}

/** Merges consecutive messages of one role. */
function alternating(messages: readonly BedrockMessage[]): BedrockMessage[] {
  const joined: BedrockMessage[] = []
  for (const { role, content } of messages) {
    const last = joined.at(-1)
    if (last?.role === role) last.content.push(...content)
    else joined.push({ role, content: [...content] })
  }
  return joined
}
