import { type ExecutedCall, type Session, ToolcribError, type ToolRegistry, type ToolResult } from 'toolcrib'
import { ServerError } from 'toolcrib/mcp'
import type { ClientLine, Json } from './client-line.ts'
import { RpcError } from './rpc-error.ts'
import { renameTools } from './search-answer.ts'
import type { ToolNames } from './tool-names.ts'
import { isJson, type Upstream } from './upstream.ts'

const INVALID_PARAMS = -32_602
const SEARCH_TOOLS = ['tool_search', 'tool_search_regex', 'ToolSearch']

/** A session as a client uses it, with the names its tools are shown under. */
export interface CallScene {
  readonly session: Session
  readonly names: ToolNames
}

/**
 * Calls of tools. Each goes through the session, for its policy, its hooks, its events and the check of its arguments,
 * and then to its server as a request; what the server answers reaches the client as it came.
 */
export class ToolCalls {
  readonly #registry: ToolRegistry
  readonly #upstream: Upstream
  #nextId = 0

  constructor(registry: ToolRegistry, upstream: Upstream) {
    this.#registry = registry
    this.#upstream = upstream
  }

  /** Whether the tool that a call names is known, however it is written. */
  knows({ name, arguments: args }: Json, scene: CallScene): boolean {
    const isDoor = name === 'call_tool' || name === 'call_read_tool'
    const named = isDoor && isJson(args) ? args.name : name
    return typeof named !== 'string' || this.#resolve(named, scene) !== undefined
  }

  /** The result of `tools/call`. Throws an `RpcError` for what the protocol answers with an error. */
  async call(params: Json, scene: CallScene, line: ClientLine): Promise<Json> {
    const { name, arguments: args, ...rest } = params
    if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, 'tools/call needs the name of a tool')
    const door = this.#throughDoor(name, args, scene)
    if (door && 'refusal' in door) return failed(door.refusal)
    const call = door ?? { name: this.#resolve(name, scene) ?? name, args: args ?? {} }
    if (this.#registry.has(call.name) && this.#registry.explain(call.name, scene.session).state === 'denied')
      throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 200)}`)
    const sent = new SentCall(this.#upstream, rest, line)
    const toolCallId = String(++this.#nextId)
    const [answer] = await scene.session.execute([{ toolCallId, ...call }], {
      signal: line.signal,
      timeoutMs: 0,
      resultBudgetChars: Number.MAX_SAFE_INTEGER,
      maxIdenticalCalls: 0,
      execute: (executed) => sent.execute(executed),
    })
    const result = answer?.result ?? { ok: false, code: 'execution_failed', error: 'the call has no result' }
    if (sent.outcome) return sent.outcome.answer(result)
    if (!result.ok && result.code === 'not_available' && !door)
      throw new RpcError(INVALID_PARAMS, result.error)
    if (!SEARCH_TOOLS.includes(call.name)) return toCallResult(result)
    return toCallResult(renameTools(result, scene.names, (tool) => this.#doorOf(tool, scene)))
  }

  /** What a call through one of the two doors means; undefined for a call of any other tool. */
  #throughDoor(
    name: string,
    args: unknown,
    scene: CallScene,
  ): { readonly name: string; readonly args: unknown } | { readonly refusal: string } | undefined {
    if (name !== 'call_tool' && name !== 'call_read_tool') return undefined
    const { state } = this.#registry.explain('call_tool', scene.session)
    if (state === 'denied') return undefined
    const named = isJson(args) && typeof args.name === 'string' ? args.name : undefined
    const target = named === undefined ? undefined : this.#resolve(named, scene)
    if (name === 'call_read_tool' && !(target !== undefined && this.#isReadOnly(target)))
      return { refusal: notReadOnly(named, target !== undefined) }
    const meant = target === undefined ? args : { ...(isJson(args) ? args : {}), name: target }
    // A list that was fetched when tools were deferred still shows the doors.
    if (state !== 'visible' && isJson(meant) && target !== undefined)
      return { name: target, args: meant.arguments ?? {} }
    return { name: 'call_tool', args: meant }
  }

  /** The registered name that a name means, however it is written; undefined for a tool that is not permitted. */
  #resolve(name: string, { session, names }: CallScene): string | undefined {
    const exact = this.#registry.has(name) ? name : names.ofShown(name)?.registered
    if (exact === undefined) return session.currentTurn().describe(name)?.name
    return this.#registry.explain(exact, session).state === 'denied' ? undefined : exact
  }

  /** The door that a tool is called through; undefined where tools are called by their names. */
  #doorOf(registered: string, { session }: CallScene): string | undefined {
    if (this.#registry.explain('call_tool', session).state !== 'visible') return undefined
    return this.#isReadOnly(registered) ? 'call_read_tool' : 'call_tool'
  }

  #isReadOnly(registered: string): boolean {
    return this.#registry.get(registered)?.annotations?.readOnlyHint === true
  }
}

/** A call that reached its server: what the server answered, and what the session makes of that. */
class SentCall {
  outcome: Answered | undefined
  readonly #upstream: Upstream
  readonly #rest: Json
  readonly #line: ClientLine

  constructor(upstream: Upstream, rest: Json, line: ClientLine) {
    this.#upstream = upstream
    this.#rest = rest
    this.#line = line
  }

  execute({ source, ownName, args }: ExecutedCall): Promise<ToolResult> | undefined {
    if (source.kind !== 'mcp') return undefined
    return this.#send(source.server, { ...this.#rest, name: ownName, arguments: args })
  }

  async #send(server: string, params: Json): Promise<ToolResult> {
    try {
      const raw = await this.#upstream.send(server, { method: 'tools/call', params }, this.#line)
      this.outcome = new Answered({ raw }, summaryOf(raw))
    } catch (error) {
      if (error instanceof ToolcribError) return { ok: false, code: 'execution_failed', error: error.message }
      if (!(error instanceof ServerError) && !(error instanceof RpcError)) throw error
      this.outcome = new Answered({ error }, { ok: false, code: 'execution_failed', error: error.message })
    }
    return this.outcome.summary
  }
}

/** What a server answered, beside the summary of it that hooks, events and reducers of the registry see. */
class Answered {
  readonly summary: ToolResult
  readonly #kept: { readonly raw: Json } | { readonly error: ServerError | RpcError }

  constructor(
    kept: { readonly raw: Json } | { readonly error: ServerError | RpcError },
    summary: ToolResult,
  ) {
    this.#kept = kept
    this.summary = summary
  }

  /** The answer as it came, unless the host's hooks, reducers or secrets changed its summary on the way. */
  answer(result: ToolResult): Json {
    if (textOf(result) !== textOf(this.summary) || result.structured !== this.summary.structured)
      return toCallResult(result)
    if ('error' in this.#kept) throw RpcError.from(this.#kept.error)
    return this.#kept.raw
  }
}

function summaryOf(raw: Json): ToolResult {
  const blocks = Array.isArray(raw.content) ? raw.content : []
  const texts = blocks.filter(isJson).flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []))
  const text = texts.join('\n')
  return raw.isError === true
    ? { ok: false, code: 'execution_failed', error: text }
    : {
        ok: true,
        value: text,
        ...(raw.structuredContent === undefined ? {} : { structured: raw.structuredContent }),
      }
}

function toCallResult(result: ToolResult): Json {
  const meta = result.meta === undefined ? {} : { _meta: result.meta }
  const structured = isJson(result.structured) ? { structuredContent: result.structured } : {}
  if (!result.ok) return { ...failed(result.error), ...meta }
  return { content: result.content ?? [{ type: 'text', text: result.value }], ...structured, ...meta }
}

function failed(text: string): Json {
  return { content: [{ type: 'text', text }], isError: true }
}

function textOf(result: ToolResult): string {
  return result.ok ? result.value : result.error
}

function notReadOnly(name: string | undefined, isKnown: boolean): string {
  if (name === undefined) return 'call_read_tool takes { "name": …, "arguments": { … } }. Nothing was run.'
  if (!isKnown) return `Unknown tool: ${name.slice(0, 200)}; find it with the search tool. Nothing was run.`
  return `"${name.slice(0, 200)}" does not say that it only reads; call it with call_tool. Nothing was run.`
}
