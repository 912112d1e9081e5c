import { type ExecutedCall, type Session, ToolcribError, type ToolRegistry, type ToolResult } from 'toolcrib'
import { ServerError } from 'toolcrib/mcp'
import { Answered, failed, summaryOf, toCallResult } from './answered.ts'
import type { ClientLine } from './client-line.ts'
import { INVALID_PARAMS, isJson, type Json, MAX_CHARACTERS, RpcError, textParam } from './json-rpc.ts'
import type { ProfileView } from './profile-view.ts'
import { isReadOnly, ShownFindings } from './shown-findings.ts'
import { type BegunCall, isTask, type TaskOwner, type Tasks } from './tasks.ts'
import type { ToolNames } from './tool-names.ts'
import type { UnlistedServers } from './unlisted-servers.ts'
import type { Upstream } from './upstream.ts'

const SEARCH_TOOLS = ['tool_search', 'tool_search_regex', 'ToolSearch']

/** A session as a client uses it, with the names its tools are shown under. */
export interface CallScene {
  readonly session: Session
  readonly names: ToolNames
  readonly view: ProfileView
}

/**
 * Runs calls of tools. Each passes the policy, hooks, events and argument check of its session, then goes to its server
 * as a request. The client receives the server's response unchanged.
 */
export class ToolCalls {
  readonly #registry: ToolRegistry
  readonly #upstream: Upstream
  readonly #unlisted: UnlistedServers
  readonly #tasks: Tasks
  #nextId = 0

  constructor(
    registry: ToolRegistry,
    upstream: Upstream,
    { unlisted, tasks }: { readonly unlisted: UnlistedServers; readonly tasks: Tasks },
  ) {
    this.#tasks = tasks
    this.#registry = registry
    this.#upstream = upstream
    this.#unlisted = unlisted
  }

  /** Returns the result of `tools/call`. Throws an `RpcError` for errors of the protocol. */
  async call(params: Json, scene: CallScene, line: ClientLine): Promise<Json> {
    const { arguments: args, name: _, ...rest } = params
    const name = textParam('tools/call', params, 'name')
    const fault = oversizeOf(name, args)
    if (fault !== undefined) return failed(fault)
    const named = isDoor(name) && isJson(args) ? args.name : name
    const target = typeof named === 'string' ? await this.#find(named, scene, line) : { tool: undefined }
    if ('doubt' in target) return failed(target.doubt)
    const door = this.#throughDoor(name, args, { scene, target: target.tool })
    if (door && 'refusal' in door) return failed(door.refusal)
    const call = door ?? { name: (isDoor(name) ? undefined : target.tool) ?? name, args: args ?? {} }
    if (!door && target.tool === undefined && this.#isDenied(name, scene))
      throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 200)}`)
    const sent = new SentCall(this.#upstream, this.#tasks, rest, { scene, line })
    const result = await this.#execute(call, sent, { scene, line })
    if (sent.outcome) return sent.outcome.answer(result)
    if (!result.ok) {
      const error = withShownNames(result.error, scene.names)
      if (result.code === 'not_available' && !door) throw new RpcError(INVALID_PARAMS, error)
      return toCallResult({ ...result, error })
    }
    if (!SEARCH_TOOLS.includes(call.name)) return toCallResult(result)
    return toCallResult(new ShownFindings(this.#registry, scene).of(result, call.name))
  }

  /**
   * The tool that a name means. Waits for its server if the server's tools are not known yet. `doubt` says why it is
   * unknown whether there is such a tool.
   */
  async #find(
    name: string,
    scene: CallScene,
    line: ClientLine,
  ): Promise<{ readonly tool: string | undefined } | { readonly doubt: string }> {
    const tool = this.#resolve(name, scene)
    if (tool !== undefined || !this.#unlisted.mayHave(name, scene.view) || this.#isMetaTool(name, scene))
      return { tool }
    await this.#unlisted.beforeCall(name, scene.view, line.signal)
    const found = this.#resolve(name, scene)
    if (found !== undefined || this.#registry.has(name)) return { tool: found }
    const doubt = this.#unlisted.doubtAbout(name, scene.view)
    return doubt === undefined ? { tool: undefined } : { doubt }
  }

  /** Runs a call in its session, without the library's limits: the client has its own. */
  async #execute(
    call: { readonly name: string; readonly args: unknown },
    sent: SentCall,
    { scene, line }: TaskOwner,
  ): Promise<ToolResult> {
    const toolCallId = String(++this.#nextId)
    const [answer] = await scene.session.execute([{ toolCallId, ...call }], {
      signal: line.signal,
      timeoutMs: 0,
      resultBudgetChars: Number.MAX_SAFE_INTEGER,
      maxIdenticalCalls: 0,
      execute: (executed) => sent.execute(executed),
    })
    return answer?.result ?? { ok: false, code: 'execution_failed', error: 'the call has no result' }
  }

  /** The call that one of the two doors was asked to make; undefined for calls of other tools. */
  #throughDoor(
    name: string,
    args: unknown,
    { scene, target }: { readonly scene: CallScene; readonly target: string | undefined },
  ): { readonly name: string; readonly args: unknown } | { readonly refusal: string } | undefined {
    if (!isDoor(name)) return undefined
    const { state } = this.#registry.explain('call_tool', scene.session)
    if (state === 'denied') return undefined
    const named = isJson(args) && typeof args.name === 'string' ? args.name : undefined
    if (name === 'call_read_tool' && !(target !== undefined && isReadOnly(this.#registry, target)))
      return { refusal: notReadOnly(named, target !== undefined) }
    const meant = target === undefined ? args : { ...(isJson(args) ? args : {}), name: target }
    // A list that was fetched when tools were deferred still shows the doors.
    if (state !== 'visible' && isJson(meant) && target !== undefined)
      return { name: target, args: meant.arguments ?? {} }
    return { name: 'call_tool', args: meant }
  }

  /** The registered name that a name means, in any spelling; undefined for a tool that is not permitted. */
  #resolve(name: string, { session, names }: CallScene): string | undefined {
    const exact = this.#registry.has(name) ? name : names.ofShown(name)?.registered
    if (exact === undefined) return session.currentTurn().describe(name)?.name
    return this.#registry.explain(exact, session).state === 'denied' ? undefined : exact
  }

  /** Whether this session shows a meta-tool of this name, which works whatever state the servers are in. */
  #isMetaTool(name: string, { session }: CallScene): boolean {
    return !this.#registry.has(name) && this.#registry.explain(name, session).state === 'visible'
  }

  #isDenied(name: string, { session }: CallScene): boolean {
    return this.#registry.has(name) && this.#registry.explain(name, session).state === 'denied'
  }
}

/** A call that reached its server: the server's response, and the session's view of it. */
class SentCall {
  outcome: Answered | undefined
  readonly #upstream: Upstream
  readonly #tasks: Tasks
  readonly #rest: Json
  readonly #client: TaskOwner

  constructor(upstream: Upstream, tasks: Tasks, rest: Json, client: TaskOwner) {
    this.#upstream = upstream
    this.#tasks = tasks
    this.#rest = rest
    this.#client = client
  }

  execute({ name: tool, source, ownName, args }: ExecutedCall): Promise<ToolResult> | undefined {
    if (source.kind !== 'mcp') return undefined
    const params = { ...this.#rest, name: ownName, arguments: args }
    return this.#send({ server: source.server, tool }, params)
  }

  async #send(begun: BegunCall, params: Json): Promise<ToolResult> {
    const { server } = begun
    try {
      const answer = await this.#upstream.send(server, { method: 'tools/call', params }, this.#client.line)
      const raw = isTask(answer) ? await this.#tasks.issued(answer, begun, this.#client) : answer
      this.outcome = new Answered({ raw }, summaryOf(raw))
    } catch (error) {
      if (error instanceof ToolcribError) return { ok: false, code: 'execution_failed', error: error.message }
      if (!(error instanceof ServerError) && !(error instanceof RpcError)) throw error
      this.outcome = new Answered({ error }, { ok: false, code: 'execution_failed', error: error.message })
    }
    return this.outcome.summary
  }
}

/** Longer than any request in words. */
const MAX_QUERY_CHARACTERS = 10_000

/** Describes what is too long in the arguments of a door or a search: names and queries are kept after their call. */
function oversizeOf(name: string, args: unknown): string | undefined {
  const most = isDoor(name)
    ? MAX_CHARACTERS.name
    : SEARCH_TOOLS.includes(name)
      ? MAX_QUERY_CHARACTERS
      : undefined
  if (most === undefined || !isJson(args)) return undefined
  const long = ['name', 'query', 'pattern'].find((key) => String(args[key] ?? '').length > most)
  return long && `the ${long} for ${name} has more than ${most} characters; make it shorter. Nothing was run.`
}

function isDoor(name: string): boolean {
  return name === 'call_tool' || name === 'call_read_tool'
}

/** A text of the registry with the names that clients see. */
function withShownNames(text: string, names: ToolNames): string {
  return text.replace(/\bmcp__[\w.-]*\w/g, (name) => names.shown(name))
}

function notReadOnly(name: string | undefined, isKnown: boolean): string {
  if (name === undefined) return 'call_read_tool takes { "name": …, "arguments": { … } }. Nothing was run.'
  if (!isKnown) return `Unknown tool: ${name.slice(0, 200)}; find it with the search tool. Nothing was run.`
  return `"${name.slice(0, 200)}" does not say that it only reads; call it with call_tool. Nothing was run.`
}
