import {
  HINT_LIMITS,
  hintLine,
  parseQuery,
  ToolcribError,
  type ToolRegistry,
  type ToolResult,
} from 'toolcrib'
import { isJson, type Json } from './json-rpc.ts'
import type { CallScene } from './tool-calls.ts'
import { withTwoDoors } from './tool-list.ts'

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

/** The result of a search as one client reads it: with the names it sees, and the door for each tool. */
export class ShownFindings {
  readonly #registry: ToolRegistry
  readonly #scene: CallScene
  readonly #isBehindDoor: boolean

  constructor(registry: ToolRegistry, scene: CallScene) {
    this.#registry = registry
    this.#scene = scene
    this.#isBehindDoor = registry.explain('call_tool', scene.session).state === 'visible'
  }

  /** The result of a search, with a first line that names tools that probably fit. */
  of(result: ToolResult, searchTool: string): ToolResult {
    if (!result.ok || !isJson(result.structured)) return result
    const renamed = this.#rename(result.structured)
    // Only its scores are probabilities.
    const isCalibrated = this.#registry.searcher.name === 'hybrid'
    const structured = isCalibrated ? withHint(renamed, searchTool) : renamed
    return { ...result, structured, value: JSON.stringify(structured) }
  }

  #rename(structured: Json): Json {
    const { names } = this.#scene
    const renamed = Object.entries(structured).map(([key, value]) => {
      if (LISTS_OF_NAMES.includes(key) && Array.isArray(value))
        return [key, value.map((name) => (typeof name === 'string' ? names.shown(name) : name))]
      if (key === 'message' && typeof value === 'string') return [key, withTwoDoors(value)]
      if ((key !== 'matches' && key !== 'tools') || !Array.isArray(value)) return [key, value]
      const listed = new Set(value.map((match) => (isJson(match) ? match.name : undefined)))
      return [key, value.map((match) => (isJson(match) ? this.#tool(match, listed) : match))]
    })
    const answer: Json = Object.fromEntries(renamed)
    if (structured.activated === true) return this.#tool(answer, new Set([structured.name]))
    return typeof answer.name === 'string' ? { ...answer, name: names.shown(answer.name) } : answer
  }

  #tool(found: Json, listed: ReadonlySet<unknown>): Json {
    const { name } = found
    if (typeof name !== 'string') return found
    const twins = this.#twinsOf(name, listed)
    return {
      ...found,
      name: this.#scene.names.shown(name),
      ...(this.#isBehindDoor ? { call_with: doorOf(this.#registry, name) } : {}),
      ...(twins.length > 0 ? { also_on_other_servers: twins } : {}),
    }
  }

  /**
   * The same tool on other servers: a search lists only one of several equal tools, and only the model can know which
   * server is meant.
   */
  #twinsOf(registered: string, listed: ReadonlySet<unknown>): readonly string[] {
    const { names, session } = this.#scene
    const callable: string[] = []
    for (const twin of names.twinsOf(registered)) {
      if (callable.length === MAX_TWINS) break
      if (listed.has(twin.registered)) continue
      if (CALLABLE.includes(this.#registry.explain(twin.registered, session).state)) callable.push(twin.shown)
    }
    return callable
  }
}

/** The door through which a tool is called, if tools are not called by their names. */
function doorOf(registry: ToolRegistry, registered: string): string {
  return isReadOnly(registry, registered) ? 'call_read_tool' : 'call_tool'
}

/** Whether a tool declares that it only reads, and does not contradict itself. */
export function isReadOnly(registry: ToolRegistry, registered: string): boolean {
  const { readOnlyHint, destructiveHint } = registry.get(registered)?.annotations ?? {}
  return readOnlyHint === true && destructiveHint !== true
}

/** Adds a first line that names tools that probably fit: the gateway sees no user message to add a hint to. */
function withHint(structured: Json, searchTool: string): Json {
  if (structured.note !== undefined || !isRequest(structured.query)) return structured
  const { query, matches, ...rest } = structured
  const fitting = Array.isArray(matches) ? matches.filter(isJson).filter(fits).slice(0, HINT_LIMITS.most) : []
  if (fitting.length === 0) return structured
  const note = hintLine(
    fitting.map(({ name }) => String(name)),
    searchTool,
  )
  return { query, note, matches, ...rest }
}

/** Names, patterns and queries that only filter are not guesses: what they match is what was asked for. */
function isRequest(query: unknown): boolean {
  try {
    return typeof query === 'string' && parseQuery(query).words.length > 0
  } catch (error) {
    if (error instanceof ToolcribError) return false
    throw error
  }
}

function fits({ score }: Json): boolean {
  return typeof score === 'number' && score >= HINT_LIMITS.from
}
