import type Anthropic from '@anthropic-ai/sdk'
import { isRecord } from '../json.ts'
import { CallIds, GO_ON, withUserTurns } from './mend-history.ts'
import { readText } from './read-value.ts'

/** The tools of a request, by wire name. */
interface DeclaredTools {
  /** Whether messages may refer to a tool. */
  knows(name: string): boolean
  /** Whether `tools` declares it. */
  declares(name: string): boolean
}

/**
 * Repairs a history for the Messages API: call ids are unique, references point to defined tools, the provider's own calls
 * have results, the last message is the user's, and messages have no field that only this package knows. Messages that need
 * no change are passed on as they are.
 */
export function mendMessages(
  messages: readonly Anthropic.MessageParam[],
  tools: DeclaredTools,
): Anthropic.MessageParam[] {
  const ids = new CallIds()
  const added = new Set<unknown>()
  const mended = withoutAbandoned(messages.map(withoutContainer)).flatMap(
    (message): Anthropic.MessageParam[] => {
      if (typeof message.content === 'string') return [message]
      if (message.role === 'system') return withNewAdditions(message, tools, added)
      const content = message.content.map((block) => mendReferences(withOwnId(block, ids), tools))
      const isSame = content.every((block, index) => block === message.content[index])
      return [isSame ? message : { ...message, content }]
    },
  )
  return withUserTurns(mended, isFinished, { role: 'user', content: GO_ON })
}

function withoutContainer(message: Anthropic.MessageParam): Anthropic.MessageParam {
  if (!('container' in message)) return message
  const { container: _, ...rest } = message
  return rest
}

function withOwnId(block: Anthropic.ContentBlockParam, ids: CallIds): Anthropic.ContentBlockParam {
  if (block.type === 'tool_use') {
    const id = ids.ofCall(block.id)
    return id === block.id ? block : { ...block, id }
  }
  if (block.type !== 'tool_result') return block
  const id = ids.ofResult(block.tool_use_id)
  return id === block.tool_use_id ? block : { ...block, tool_use_id: id }
}

/** Defines a tool that was found twice, or that `tools` has, only once: the API rejects a second definition of a name. */
function withNewAdditions(
  message: Anthropic.SystemMessageParam,
  tools: DeclaredTools,
  added: Set<unknown>,
): Anthropic.MessageParam[] {
  const blocks = Array.isArray(message.content) ? message.content : []
  const content = blocks.filter((block) => {
    const name = addedName(block)
    if (name === undefined) return true
    const isNew = !tools.declares(readText(name)) && !added.has(name)
    added.add(name)
    return isNew
  })
  if (content.length === 0) return []
  return [content.length === blocks.length ? message : { ...message, content }]
}

function addedName(block: object): unknown {
  if (!('tool' in block) || !isRecord(block.tool) || !isRecord(block.tool.definition)) return undefined
  return block.tool.definition.name
}

/** A reference to a removed tool would fail every later request; its result says so instead. */
function mendReferences(
  block: Anthropic.ContentBlockParam,
  tools: DeclaredTools,
): Anthropic.ContentBlockParam {
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return block
  const gone: string[] = []
  const kept = block.content.filter((part) => {
    if (part.type !== 'tool_reference' || tools.knows(part.tool_name)) return true
    gone.push(part.tool_name)
    return false
  })
  if (gone.length === 0) return block
  if (kept.length > 0) return { ...block, content: kept }
  return { ...block, content: `No longer available: ${gone.join(', ')}. Search again for what you need.` }
}

/**
 * Removes calls of the provider's own tools that an interrupted answer left without a result. The API accepts them only
 * while the model's turn continues: at the end, or with results of calls that code has made.
 */
function withoutAbandoned(messages: readonly Anthropic.MessageParam[]): Anthropic.MessageParam[] {
  const abandoned = new Set<string>()
  return messages.flatMap((message, index) => {
    const { role, content } = message
    if (role !== 'assistant' || typeof content === 'string') return [message]
    if (isFollowedByUser(messages[index + 1])) for (const id of openUses(content)) abandoned.add(id)
    const kept = content.filter((block) => !abandoned.has(hostCallId(block) ?? ''))
    if (kept.length === content.length) return [message]
    const last = kept.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    return last < 0 ? [] : [{ ...message, content: kept.slice(0, last + 1) }]
  })
}

function isFollowedByUser(next: Anthropic.MessageParam | undefined): boolean {
  if (next?.role !== 'user') return false
  return typeof next.content === 'string' || !next.content.some(({ type }) => type === 'tool_result')
}

/** The id of the provider's own call that a block makes or answers. */
function hostCallId(block: Anthropic.ContentBlockParam): string | undefined {
  if (isHostUse(block)) return block.id
  return block.type !== 'tool_result' && 'tool_use_id' in block ? block.tool_use_id : undefined
}

/** Calls of provider tools: `server_tool_use`, and `mcp_tool_use` of its beta. */
function isHostUse(
  block: Anthropic.ContentBlockParam,
): block is Anthropic.ContentBlockParam & { readonly id: string } {
  return /^.+_tool_use$/.test(readText(block.type)) && 'id' in block
}

function openUses(content: readonly Anthropic.ContentBlockParam[]): readonly string[] {
  const answered = new Set(content.flatMap((block) => ('tool_use_id' in block ? [block.tool_use_id] : [])))
  return content.filter(isHostUse).flatMap(({ id }) => (answered.has(id) ? [] : [id]))
}

/** Whether the model's message is complete; one that waits for the provider's own tools continues unchanged. */
function isFinished({ role, content }: Anthropic.MessageParam): boolean {
  if (role !== 'assistant') return false
  if (typeof content === 'string') return true
  const last = content.at(-1)
  const endsInResult = last !== undefined && !isHostUse(last) && hostCallId(last) !== undefined
  return !endsInResult && openUses(content).length === 0
}
