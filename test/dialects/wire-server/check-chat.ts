import { type Body, firstOf, isBody, list, repeated } from './body.ts'
import { checkCompatibleSchema } from './check-schema.ts'

/** What Chat Completions, or a stricter server that speaks it, would refuse a request for. */
export function checkChatRequest(body: Body): string | undefined {
  return firstOf(checkTools(body.tools), checkMessages(list(body.messages)))
}

function checkTools(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const tools = list(value)
  if (tools.length === 0) return "Invalid 'tools': empty array. Expected an array with minimum length 1"
  if (tools.length > 128)
    return `Invalid 'tools': array too long. Expected maximum length 128, got ${tools.length}`
  const names: string[] = []
  for (const [index, tool] of tools.entries()) {
    const definition = isBody(tool.function) ? tool.function : {}
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(definition.name)))
      return `Invalid 'tools[${index}].function.name': does not match '^[a-zA-Z0-9_-]+$' or is longer than 64`
    if (String(definition.description).length > 1_024)
      return `Invalid 'tools[${index}].function.description': string too long`
    const fault = checkCompatibleSchema(definition.parameters)
    if (fault !== undefined) return `Invalid schema for function '${definition.name}': ${fault}`
    if ('defer_loading' in tool) return `Unknown parameter: 'tools[${index}].defer_loading'`
    names.push(String(definition.name))
  }
  const twice = repeated(names)
  return twice === undefined ? undefined : `tool names must be unique: ${twice}`
}

function checkMessages(messages: readonly Body[]): string | undefined {
  let open: string[] = []
  const seen = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === 'tool') {
      const id = String(message.tool_call_id)
      if (!open.includes(id))
        return `${at}: 'tool' must be a response to a preceding message with 'tool_calls'`
      if (typeof message.content !== 'string') return `${at}.content: expected a string`
      open = open.filter((other) => other !== id)
      continue
    }
    if (open.length > 0) return `tool_call_ids did not have response messages: ${open.join(', ')}`
    if (message.role === 'user' && messages[index - 1]?.role === 'tool')
      return "Unexpected role 'user' after role 'tool'"
    const calls = list(message.tool_calls)
    if (message.role === 'assistant' && calls.length === 0 && !message.content && !message.refusal)
      return `${at}: content is required`
    for (const call of calls) {
      const definition = isBody(call.function) ? call.function : {}
      if (typeof definition.arguments !== 'string') return `${at}: arguments must be a string`
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(definition.name))) return `${at}: invalid function name`
      if (typeof call.id !== 'string' || call.id === '') return `${at}: a call needs an id`
      if (seen.has(call.id)) return `${at}: duplicate tool call id ${call.id}`
      seen.add(call.id)
      try {
        if (!isBody(JSON.parse(definition.arguments))) return `${at}: arguments must be a JSON object`
      } catch {
        return `${at}: arguments must be valid JSON`
      }
    }
    open = calls.map(({ id }) => String(id))
    if (repeated(open) !== undefined) return `${at}: duplicate tool call ids`
  }
  if (open.length > 0) return `tool_call_ids did not have response messages: ${open.join(', ')}`
  const isOpenEnded = messages.at(-1)?.role === 'assistant'
  return isOpenEnded ? 'Expected last role User or Tool (or Assistant with prefix True)' : undefined
}
