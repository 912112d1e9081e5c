import { type Body, firstOf, isBody, list, repeated } from './body.ts'
import { checkAnthropicSchema, checkCompatibleSchema } from './check-schema.ts'

/** What the Messages API would refuse a request for, with a model that cannot be prefilled. */
export function checkAnthropicRequest(body: Body): string | undefined {
  const tools = list(body.tools)
  return firstOf(checkTools(tools), checkCacheMarks(body), checkMessages(list(body.messages), tools))
}

/** The same wire form, without deferral and with plain schemas. */
export function checkMiniMaxRequest(body: Body): string | undefined {
  const tools = list(body.tools)
  const text = JSON.stringify(body)
  if (text.includes('defer_loading') || text.includes('tool_reference')) return 'deferral is not supported'
  const refused = tools.map((tool) => checkCompatibleSchema(tool.input_schema)).find(Boolean)
  return firstOf(refused, checkAnthropicRequest(body), checkThinking(list(body.messages)))
}

function checkTools(tools: readonly Body[]): string | undefined {
  if (tools.length > 10_000) return 'available_tools_limit_exceeded'
  for (const [index, tool] of tools.entries()) {
    const at = `tools.${index}.custom`
    // A tool of the provider's own.
    if (tool.type !== undefined && tool.type !== 'custom') continue
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(tool.name))) return `${at}.name: String should match pattern`
    const fault = checkAnthropicSchema(tool.input_schema)
    if (fault !== undefined) return `${at}.${fault}`
    if (tool.defer_loading === true && 'cache_control' in tool)
      return `${at}: a tool with defer_loading cannot have cache_control`
  }
  if (tools.length > 0 && tools.every((tool) => tool.defer_loading === true))
    return 'tools: at least one tool must not have defer_loading'
  const twice = repeated(tools.map(({ name }) => String(name)))
  return twice === undefined ? undefined : `tools: Tool names must be unique: ${twice}`
}

function checkCacheMarks(body: Body): string | undefined {
  const marks = JSON.stringify(body).split('"cache_control"').length - 1
  return marks > 4 ? `a maximum of 4 blocks with cache_control may be provided, found ${marks}` : undefined
}

function checkMessages(messages: readonly Body[], tools: readonly Body[]): string | undefined {
  if (messages.length === 0) return 'messages: at least one message is required'
  const defined = new Set(tools.map(({ name }) => name))
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`
    if (message.role === 'system') {
      const fault = checkSystem(message, messages[index - 1], defined)
      if (fault !== undefined) return `${at}: ${fault}`
      continue
    }
    if (message.role !== 'user' && message.role !== 'assistant') return `${at}: unexpected role`
    if (message.content === '' || (Array.isArray(message.content) && message.content.length === 0))
      return `${at}: messages must have non-empty content`
    const blocks = list(message.content)
    if (message.role === 'assistant' && /thinking$/.test(String(blocks.at(-1)?.type)))
      return `${at}: the final block in an assistant message cannot be \`thinking\``
    for (const block of blocks) {
      const fault = checkBlock(block, defined)
      if (fault !== undefined) return `${at}: ${fault}`
    }
    const fault = checkPairs(blocks, list(messages[index + 1]?.content), list(messages[index - 1]?.content))
    if (fault !== undefined) return `${at}: ${fault}`
    const abandoned = openServerUse(blocks, messages[index + 1])
    if (abandoned !== undefined)
      return `${at}: tool use with id ${abandoned} was found without a result block`
  }
  const seen = repeated(messages.flatMap(({ content }) => usesOf(list(content))))
  if (seen !== undefined) return `\`tool_use\` ids must be unique: ${seen}`
  const last = list(messages.at(-1)?.content)
  const isPaused = /^server_tool_use$|._tool_result$/.test(String(last.at(-1)?.type))
  return messages.at(-1)?.role === 'assistant' && !isPaused
    ? 'This model does not support assistant message prefill. The conversation must end with a user message.'
    : undefined
}

/** A call that the provider runs, which the user has interrupted. */
function openServerUse(blocks: readonly Body[], next: Body | undefined): unknown {
  const isWaiting = next?.role !== 'user' || list(next.content).some(({ type }) => type === 'tool_result')
  const answered = blocks.map(({ tool_use_id }) => tool_use_id)
  const open = blocks.find(({ type, id }) => type === 'server_tool_use' && !answered.includes(id))
  return isWaiting ? undefined : open?.id
}

/** A system message in the conversation may define tools from there on. */
function checkSystem(message: Body, before: Body | undefined, defined: Set<unknown>): string | undefined {
  if (before?.role !== 'user') return 'a system message must follow a user message'
  for (const { type, tool } of list(message.content)) {
    const definition = isBody(tool) && isBody(tool.definition) ? tool.definition : undefined
    if (type !== 'tool_addition' || !definition) return `unexpected ${type}`
    if (defined.has(definition.name)) return `tool_name_conflict: ${definition.name}`
    const fault = checkTools([definition])
    if (fault !== undefined) return fault
    defined.add(definition.name)
  }
  return undefined
}

function usesOf(blocks: readonly Body[]): string[] {
  return blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => String(id))
}

function checkBlock(block: Body, defined: ReadonlySet<unknown>): string | undefined {
  if (block.type === 'text' && (typeof block.text !== 'string' || block.text.trim() === ''))
    return 'text content blocks must contain non-whitespace text'
  if (block.type === 'tool_use' && !isBody(block.input)) return 'tool_use.input: Input should be an object'
  if (block.type === 'tool_use' && !/^[a-zA-Z0-9_-]+$/.test(String(block.id)))
    return 'tool_use.id: String should match pattern'
  if (block.type === 'tool_use' && !/^[a-zA-Z0-9_-]{1,200}$/.test(String(block.name)))
    return 'tool_use.name: String should match pattern'
  if (block.type === 'thinking' && typeof block.signature !== 'string')
    return 'thinking.signature: Field required'
  if (block.type !== 'tool_result') return undefined
  const parts = list(block.content)
  const references = parts.filter(({ type }) => type === 'tool_reference')
  if (references.length > 0 && references.length < parts.length)
    return 'tool_reference cannot be mixed with other content'
  if (references.length > 0 && block.is_error === true) return 'tool_reference in an error'
  const dangling = references.find(({ tool_name }) => !defined.has(tool_name))
  if (dangling) return `Tool reference '${dangling.tool_name}' not found in available tools`
  return parts.map((part) => checkBlock(part, defined)).find(Boolean)
}

function checkPairs(
  blocks: readonly Body[],
  next: readonly Body[],
  previous: readonly Body[],
): string | undefined {
  const uses = usesOf(blocks)
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id }) => String(tool_use_id))
  const twice = repeated(uses) ?? repeated(results)
  if (twice !== undefined) return `\`tool_use\` ids must be unique: ${twice}`
  const answered = next.map(({ tool_use_id }) => tool_use_id)
  const open = uses.find((id) => !answered.includes(id))
  if (open !== undefined) return `\`tool_use\` ids were found without \`tool_result\` blocks: ${open}`
  const asked = previous.map(({ id }) => id)
  const stray = results.find((id) => !asked.includes(id))
  return stray === undefined
    ? undefined
    : `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}`
}

/** A model that thinks before it calls must be shown its thinking again. */
function checkThinking(messages: readonly Body[]): string | undefined {
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = list(content)
    const hasCall = blocks.some(({ type }) => type === 'tool_use')
    if (role === 'assistant' && hasCall && !blocks.some(({ type }) => type === 'thinking'))
      return `messages.${index}: the thinking before a call is missing`
  }
  return undefined
}
