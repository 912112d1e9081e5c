import type OpenAI from 'openai'
import { CallIds, GO_ON, withUserTurns } from './mend-history.ts'

type Message = OpenAI.ChatCompletionMessageParam

/**
 * Repairs a history for Chat Completions and its strictest servers: call ids are unique, an assistant message separates
 * results from a user message, and the last message is not the model's.
 */
export function mendChat(messages: readonly Message[]): Message[] {
  const isModels = ({ role }: Message) => role === 'assistant'
  return withUserTurns(withModelTurns(withOwnIds(messages)), isModels, { role: 'user', content: GO_ON })
}

function withOwnIds(messages: readonly Message[]): Message[] {
  const ids = new CallIds()
  return messages.map((message) => {
    if (message.role === 'tool') {
      const id = ids.ofResult(message.tool_call_id)
      return id === message.tool_call_id ? message : { ...message, tool_call_id: id }
    }
    if (message.role !== 'assistant' || !message.tool_calls) return message
    const calls = message.tool_calls.map((call) => {
      const id = ids.ofCall(call.id)
      return id === call.id ? call : { ...call, id }
    })
    const isSame = calls.every((call, index) => call === message.tool_calls?.[index])
    return isSame ? message : { ...message, tool_calls: calls }
  })
}

/**
 * Mistral's models reject a user message right after results, which images, notes and an interrupted run cause. Other
 * models accept the inserted message.
 */
function withModelTurns(messages: readonly Message[]): Message[] {
  return messages.flatMap((message, index) =>
    message.role === 'user' && messages[index - 1]?.role === 'tool' ? [HAS_READ, message] : [message],
  )
}

// Some servers reject a message without text.
const HAS_READ: Message = { role: 'assistant', content: 'I have the results.' }
