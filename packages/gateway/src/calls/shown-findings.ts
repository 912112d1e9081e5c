import type { Tool, ToolRegistry, ToolResult } from '@toolcrib/core'
import { isReadOnly } from '@toolcrib/core/internal'
import { isJson, type Json } from '../json-rpc.ts'
import { namingCallWith } from '../lists/tool-list.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'

/** The fields of search results that contain names. */
const LISTS_OF_NAMES = [
  'activated',
  'not_activated',
  'evicted',
  'suggestions',
  'already_visible',
  'already_found',
]
/** How many tools of the same name on other servers are listed with a match. */
const MAX_TWINS = 5
/** The states of tools that a client can call. */
const CALLABLE = ['visible', 'active', 'deferred']

/** The result of a search as one client reads it: with the names it sees, and the dispatch tool for each tool. */
export class ShownFindings {
  readonly #registry: ToolRegistry
  readonly #client: ClientSession
  readonly #isDispatched: boolean

  constructor(registry: ToolRegistry, client: ClientSession) {
    this.#registry = registry
    this.#client = client
    this.#isDispatched = registry.explain('call_tool', client.session).state === 'visible'
  }

  of(result: ToolResult): ToolResult {
    if (!result.ok || !isJson(result.structured)) return result
    const structured = this.#rename(result.structured)
    return { ...result, structured, value: JSON.stringify(structured) }
  }

  #rename(structured: Json): Json {
    const { names, session } = this.#client
    const renamed = Object.entries(structured).map(([key, value]) => {
      if (LISTS_OF_NAMES.includes(key) && Array.isArray(value))
        return [key, value.map((name) => (typeof name === 'string' ? names.shown(name) : name))]
      if (key === 'message' && typeof value === 'string') return [key, namingCallWith(value)]
      if ((key !== 'matches' && key !== 'tools') || !Array.isArray(value)) return [key, value]
      const listed = new Set(value.map((match) => (isJson(match) ? match.name : undefined)))
      return [key, value.map((match) => (isJson(match) ? this.#tool(match, listed) : match))]
    })
    const answer: Json = Object.fromEntries(renamed)
    if (structured.activated === true) return this.#tool(answer, new Set([structured.name]))
    if (typeof answer.name !== 'string') return answer
    // Another name would show that the tool exists.
    const isCallable = CALLABLE.includes(this.#registry.explain(answer.name, session).state)
    return isCallable ? { ...answer, name: names.shown(answer.name) } : answer
  }

  #tool(found: Json, listed: ReadonlySet<unknown>): Json {
    const { name } = found
    if (typeof name !== 'string') return found
    const twins = this.#twinsOf(name, listed)
    return {
      ...found,
      name: this.#client.names.shown(name),
      ...(this.#isDispatched && onlyReads(this.#registry.get(name)) ? { call_with: 'call_read_tool' } : {}),
      ...(twins.length > 0 ? { also_on_other_servers: twins } : {}),
    }
  }

  /**
   * The same tool on other servers: a search lists only one of several equal tools, and only the model can know which
   * server is meant.
   */
  #twinsOf(registered: string, listed: ReadonlySet<unknown>): readonly string[] {
    const { names, session } = this.#client
    const callable: string[] = []
    for (const twin of names.twinsOf(registered)) {
      if (callable.length === MAX_TWINS) break
      if (listed.has(twin.registered)) continue
      if (CALLABLE.includes(this.#registry.explain(twin.registered, session).state)) callable.push(twin.shown)
    }
    return callable
  }
}

function onlyReads(tool: Tool | undefined): boolean {
  return tool !== undefined && isReadOnly(tool)
}
