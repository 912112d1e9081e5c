import type Anthropic from '@anthropic-ai/sdk'
import { CallIds, GO_ON, withUserTurns } from './mend-history.ts'

/**
 * A history that the Messages API takes: each call has its own id, references lead to tools that are defined, and the
 * user has the last word. Messages that need no change are passed on as they are.
 */
export function mendMessages(
  messages: readonly Anthropic.MessageParam[],
  defined: ReadonlySet<string>,
): Anthropic.MessageParam[] {
  const ids = new CallIds()
  const mended = messages.map((message): Anthropic.MessageParam => {
    if (message.role === 'system' || typeof message.content === 'string') return message
    const content = message.content.map((block) => mendReferences(withOwnId(block, ids), defined))
    return content.every((block, index) => block === message.content[index])
      ? message
      : { ...message, content }
  })
  return withUserTurns(mended, isFinished, { role: 'user', content: GO_ON })
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

/** A reference to a tool that is gone would fail every later request; its result says so instead. */
function mendReferences(
  block: Anthropic.ContentBlockParam,
  defined: ReadonlySet<string>,
): Anthropic.ContentBlockParam {
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return block
  const gone: string[] = []
  const kept = block.content.filter((part) => {
    if (part.type !== 'tool_reference' || defined.has(part.tool_name)) return true
    gone.push(part.tool_name)
    return false
  })
  if (gone.length === 0) return block
  if (kept.length > 0) return { ...block, content: kept }
  return { ...block, content: `No longer available: ${gone.join(', ')}. Search again for what you need.` }
}

/** Whether a message is the model's and it does not wait for the provider's own tools: those continue it as it is. */
function isFinished({ role, content }: Anthropic.MessageParam): boolean {
  if (role !== 'assistant') return false
  if (typeof content === 'string') return true
  const answered = new Set(content.flatMap((block) => ('tool_use_id' in block ? [block.tool_use_id] : [])))
  return !content.some((block) => block.type === 'server_tool_use' && !answered.has(block.id))
}
