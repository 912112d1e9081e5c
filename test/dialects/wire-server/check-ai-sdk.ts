import { modelMessageSchema as version6 } from 'ai-v6'
import { modelMessageSchema as version7 } from 'ai-v7'
import type { Body } from './body.ts'

interface Part {
  readonly type: string
  readonly toolCallId: string
}

/** Says what is wrong with a request to `generateText`: for the schemas of both versions, or for its providers. */
export function checkAiSdkRequest({ messages }: Body): string | undefined {
  const ids = new Set<string>()
  let open = new Set<string>()
  for (const [index, message] of (messages as Body[]).entries()) {
    for (const schema of [version6, version7]) {
      const { error } = schema.safeParse(message)
      if (error) return `message ${index}: ${error.message}`
    }
    const parts = (Array.isArray(message.content) ? message.content : []) as Part[]
    for (const { type, toolCallId } of parts) {
      if (type === 'tool-result' && !open.delete(toolCallId)) return `message ${index}: no call ${toolCallId}`
      if (type !== 'tool-call') continue
      if (ids.has(toolCallId)) return `message ${index}: a second call ${toolCallId}`
      ids.add(toolCallId)
      open.add(toolCallId)
    }
    if (message.role === 'user' && open.size > 0) return `message ${index}: calls without results`
    if (message.role === 'user') open = new Set()
  }
  const last = (messages as Body[]).at(-1)
  if (open.size > 0) return 'calls without results'
  return last?.role === 'assistant' ? 'the last message is the model’s' : undefined
}
