import { type Body, firstOf, isBody, list, repeated } from './body.ts'
import { checkCompatibleSchema } from './check-schema.ts'

/** What Bedrock's Converse would refuse a request for. */
export function checkBedrockRequest(body: Body): string | undefined {
  const tools = isBody(body.toolConfig) ? list(body.toolConfig.tools) : undefined
  const messages = list(body.messages)
  return firstOf(checkTools(tools), checkMessages(messages), checkToolConfig(tools, messages))
}

function checkTools(tools: readonly Body[] | undefined): string | undefined {
  if (tools === undefined) return undefined
  if (tools.length === 0) return 'toolConfig.tools: minimum length 1'
  const specs = tools.flatMap(({ toolSpec }) => (isBody(toolSpec) ? [toolSpec] : []))
  for (const [index, { name, description, inputSchema }] of specs.entries()) {
    const at = `toolConfig.tools.${index}.member.toolSpec`
    if (!isName(name)) return `${at}.name: must satisfy regular expression pattern: [a-zA-Z0-9_-]+`
    if (description === '') return `${at}.description: minimum length 1`
    const fault = checkCompatibleSchema(isBody(inputSchema) ? inputSchema.json : undefined)
    if (fault !== undefined) return `${at}.inputSchema.json: ${fault}`
  }
  const twice = repeated(specs.map(({ name }) => String(name)))
  return twice === undefined ? undefined : `The tool ${twice} is already defined`
}

function checkMessages(messages: readonly Body[]): string | undefined {
  if (messages[0]?.role !== 'user') return 'A conversation must start with a user message.'
  if (messages.at(-1)?.role !== 'user')
    return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  for (const [index, message] of messages.entries()) {
    if (message.role === messages[index - 1]?.role) return 'messages: roles must alternate'
    const blocks = list(message.content)
    if (blocks.length === 0) return `messages.${index}.content: is empty`
    const fault =
      blocks.map(checkBlock).find(Boolean) ?? checkPairs(blocks, list(messages[index + 1]?.content))
    if (fault !== undefined) return `messages.${index}: ${fault}`
    const results = toolResults(blocks)
    const asked = toolUses(list(messages[index - 1]?.content)).map(({ toolUseId }) => toolUseId)
    const stray = results.find(({ toolUseId }) => !asked.includes(toolUseId))
    if (stray) return `messages.${index}: toolResult for an unknown toolUse ${stray.toolUseId}`
  }
  const twice = repeated(
    messages.flatMap(({ content }) => toolUses(list(content))).map(({ toolUseId }) => String(toolUseId)),
  )
  if (twice !== undefined) return `tool_use ids must be unique: ${twice}`
  const blocks = messages.flatMap(({ content }) => list(content))
  const parts = [...blocks, ...toolResults(blocks).flatMap(({ content }) => list(content))]
  const documents = parts.flatMap(({ document }) => (isBody(document) ? [String(document.name)] : []))
  return repeated(documents) === undefined ? undefined : "Messages can't contain duplicate document names."
}

function checkBlock(block: Body): string | undefined {
  const keys = Object.keys(block)
  if (keys.length !== 1) return `a content block has one member, not ${keys.join(', ')}`
  if ('text' in block && (typeof block.text !== 'string' || block.text.trim() === ''))
    return 'The text field in the ContentBlock object is blank.'
  const { toolUse, toolResult } = block
  if (isBody(toolUse)) {
    if (!isName(toolUse.name) || !isName(toolUse.toolUseId)) return 'toolUse: invalid name or id'
    if (!isBody(toolUse.input))
      return 'The format of the value at toolUse.input is invalid. Provide a json object.'
  }
  if (isBody(toolResult)) {
    const content = list(toolResult.content)
    if (content.length === 0) return 'toolResult.content is empty'
    return content.map(checkBlock).find(Boolean)
  }
  return undefined
}

function checkPairs(blocks: readonly Body[], next: readonly Body[]): string | undefined {
  const answered = toolResults(next).map(({ toolUseId }) => toolUseId)
  const open = toolUses(blocks).find(({ toolUseId }) => !answered.includes(toolUseId))
  return open ? `Expected toolResult blocks for the following Ids: ${open.toolUseId}` : undefined
}

function checkToolConfig(tools: readonly Body[] | undefined, messages: readonly Body[]): string | undefined {
  const hasCalls = messages.some(({ content }) => toolUses(list(content)).length > 0)
  return hasCalls && tools === undefined
    ? 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
    : undefined
}

function toolUses(blocks: readonly Body[]): Body[] {
  return blocks.flatMap(({ toolUse }) => (isBody(toolUse) ? [toolUse] : []))
}

function toolResults(blocks: readonly Body[]): Body[] {
  return blocks.flatMap(({ toolResult }) => (isBody(toolResult) ? [toolResult] : []))
}

function isName(value: unknown): boolean {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(String(value))
}
