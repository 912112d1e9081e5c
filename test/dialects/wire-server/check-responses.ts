import { type Body, firstOf, isBody, list, repeated } from './body.ts'
import { checkOpenAiSchema } from './check-schema.ts'

/** What the Responses API would refuse a request for. */
export function checkResponsesRequest(body: Body): string | undefined {
  const tools = list(body.tools)
  return firstOf(checkTools(tools, 'tools'), checkItems(list(body.input), tools))
}

function checkTools(tools: readonly Body[], at: string): string | undefined {
  if (tools.length > 128) return `${at}: at most 128 tools`
  for (const [index, tool] of tools.entries()) {
    const fault = checkTool(tool, `${at}[${index}]`)
    if (fault !== undefined) return fault
  }
  const twice = repeated(tools.map((tool) => String(tool.name ?? tool.type)))
  return twice === undefined ? undefined : `${at}: duplicate tool ${twice}`
}

function checkTool(tool: Body, at: string): string | undefined {
  if (tool.type === 'function') return checkFunction(tool, at)
  if (tool.type === 'namespace') {
    const members = list(tool.tools)
    if (!isName(tool.name)) return `${at}.name: invalid`
    if (typeof tool.description !== 'string' || tool.description === '') return `${at}.description: required`
    if (members.length === 0 || members.length >= 10) return `${at}.tools: a namespace has 1 to 9 tools`
    if ('defer_loading' in tool) return `${at}.defer_loading: unknown parameter`
    return members.map((member, index) => checkFunction(member, `${at}.tools[${index}]`)).find(Boolean)
  }
  if (HOSTED.includes(String(tool.type))) return undefined
  if (tool.type !== 'tool_search') return `${at}.type: unknown ${tool.type}`
  if (tool.execution !== 'client') return `${at}.execution: nothing to search on the server`
  return checkOpenAiSchema(tool.parameters)
}

/** Tools that run at the provider. */
const HOSTED = ['web_search', 'code_interpreter', 'file_search', 'programmatic_tool_calling']

function checkFunction(tool: Body, at: string): string | undefined {
  if (!isName(tool.name)) return `${at}.name: string does not match pattern or is too long`
  const fault = checkOpenAiSchema(tool.parameters)
  return fault === undefined ? undefined : `${at}.parameters: ${fault}`
}

function isName(value: unknown): boolean {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(String(value))
}

function checkItems(items: readonly Body[], tools: readonly Body[]): string | undefined {
  const shown = new Set(tools.filter(({ type }) => type === 'function').map(({ name }) => String(name)))
  const loaded = new Set<string>()
  const load = (namespaces: readonly Body[]) => {
    for (const { type, name, tools: members } of namespaces)
      if (type === 'namespace') for (const member of list(members)) loaded.add(`${name}::${member.name}`)
  }
  load(tools)
  const calls: string[] = []
  const outputs: string[] = []
  for (const [index, item] of items.entries()) {
    const at = `input[${index}]`
    if (item.type === 'reasoning' && !isFollowed(items, index))
      return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`
    if (item.type === 'function_call' || item.type === 'tool_search_call') {
      const fault = checkCall(item)
      if (fault !== undefined) return `${at}: ${fault}`
      calls.push(String(item.call_id))
    }
    if (item.type === 'function_call_output' || item.type === 'tool_search_output') {
      if (!calls.includes(String(item.call_id))) return `${at}: no call found for output ${item.call_id}`
      outputs.push(String(item.call_id))
    }
    if (item.type === 'tool_search_output') {
      const fault = checkTools(list(item.tools), `${at}.tools`)
      if (fault !== undefined) return fault
      const flat = list(item.tools).find(({ type }) => type !== 'namespace')
      if (flat) return `${at}.tools: ${flat.name} is in no namespace`
      const eager = list(item.tools)
        .flatMap((namespace) => list(namespace.tools))
        .find((member) => member.defer_loading !== true)
      if (eager) return `${at}.tools: ${eager.name} must be deferred`
      load(list(item.tools))
    }
    if (item.type === 'function_call') {
      const fault = checkNamespace(item, shown, loaded)
      if (fault !== undefined) return `${at}.namespace: ${fault}`
    }
  }
  const open = calls.find((id) => !outputs.includes(id))
  if (open !== undefined) return `No tool output found for function call ${open}.`
  const twice = repeated(calls) ?? repeated(outputs)
  return twice === undefined ? undefined : `duplicate call_id ${twice}`
}

function checkCall(item: Body): string | undefined {
  if (!/^.{1,64}$/.test(String(item.call_id ?? ''))) return 'call_id: expected 1 to 64 characters'
  if (item.type === 'tool_search_call')
    return isBody(item.arguments) ? undefined : 'arguments: expected an object'
  if (!isName(item.name)) return 'name: string does not match pattern'
  if (typeof item.arguments !== 'string') return 'arguments: expected a string'
  try {
    return isBody(JSON.parse(item.arguments)) ? undefined : 'arguments: expected a JSON object'
  } catch {
    return 'arguments: expected JSON'
  }
}

/** The item that reasoning led to is known by its id; one that never was whole has none. */
function isFollowed(items: readonly Body[], index: number): boolean {
  const next = items.slice(index + 1).find(({ type }) => type !== 'reasoning')
  return next?.id !== undefined
}

function checkNamespace(
  { name, namespace }: Body,
  shown: ReadonlySet<string>,
  loaded: ReadonlySet<string>,
): string | undefined {
  if (namespace !== undefined)
    return loaded.has(`${namespace}::${name}`) ? undefined : `unknown tool ${namespace}::${name}`
  if (shown.has(String(name))) return undefined
  const isElsewhere = [...loaded].some((member) => member.endsWith(`::${name}`))
  return isElsewhere ? `Missing namespace for function_call '${name}'.` : undefined
}
