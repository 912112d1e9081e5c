import type { ExecutedCall, Session, ToolRegistry, ToolResult } from '@toolcrib/core'
import { isDispatchTool, isReadOnly, isSearchTool, refusalToRead } from '@toolcrib/core/internal'
import type { Approval, Approvals } from '../approvals/approvals.ts'
import type { ClientLine } from '../asks/client-line.ts'
import { type Auditor, callerOf } from '../audit/audited-call.ts'
import { INVALID_PARAMS, isJson, type Json, MAX_CHARACTERS, RpcError, textParam } from '../json-rpc.ts'
import type { UnlistedServers } from '../lists/unlisted-servers.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import { type BigResults, READ_RESULT } from './big-results.ts'
import { answerOf, failed, unendedAs } from './call-answer.ts'
import { ForwardedCall } from './forwarded-call.ts'
import { RUN_SCRIPT, ScriptedCalls } from './scripted-calls.ts'
import { ShownFindings } from './shown-findings.ts'
import type { TaskOwner, Tasks } from './tasks.ts'
import type { Upstream } from './upstream.ts'

/**
 * Runs calls of tools. Each passes the policy, hooks, events and argument check of its session, then goes to its server
 * as a request. The client receives the server's response unchanged.
 */
export class ToolCalls {
  readonly #registry: ToolRegistry
  readonly #upstream: Upstream
  readonly #unlisted: UnlistedServers
  readonly #tasks: Tasks
  readonly #approvals: Approvals
  readonly #auditor: Auditor | undefined
  readonly #bigResults: BigResults
  #nextId = 0

  constructor(
    registry: ToolRegistry,
    upstream: Upstream,
    {
      unlisted,
      tasks,
      approvals,
      auditor,
      bigResults,
    }: {
      readonly unlisted: UnlistedServers
      readonly tasks: Tasks
      readonly approvals: Approvals
      readonly auditor: Auditor | undefined
      readonly bigResults: BigResults
    },
  ) {
    this.#auditor = auditor
    this.#bigResults = bigResults
    this.#approvals = approvals
    this.#tasks = tasks
    this.#registry = registry
    this.#upstream = upstream
    this.#unlisted = unlisted
  }

  /** Returns the result of `tools/call`. Throws an `RpcError` for errors of the protocol. */
  async call(params: Json, client: ClientSession, line: ClientLine): Promise<Json> {
    const { arguments: args, name: _, ...others } = params
    // Only the states of modern clients are sealed.
    const decided = line.era === 'modern' ? await this.#approvals.readAnswer(others) : undefined
    const rest = decided?.rest ?? others
    const name = textParam('tools/call', params, 'name')
    if (name === READ_RESULT && this.#bigResults.isOn(client.view))
      return this.#bigResults.read(args, line.principal)
    const fault = oversizeOf(name, args)
    if (fault !== undefined) return failed(fault)
    const isDispatched = isDispatchTool(name)
    const meant = isDispatched && isJson(args) ? args.name : name
    const target = typeof meant === 'string' ? await this.#find(meant, client, line) : { tool: undefined }
    if ('doubt' in target) return failed(target.doubt)
    const call = isDispatched
      ? this.#dispatched(name, args, { target: target.tool, client })
      : { name: target.tool ?? name, args: args ?? {} }
    if ('refusal' in call) return failed(call.refusal)
    const approval = this.#approvals.of(client, line, decided)
    const about = {
      name: target.tool ?? String(meant),
      args: (isDispatched && isJson(args) ? args.arguments : args) ?? {},
    }
    const isSaved = this.#registry.get(about.name)?.uses !== undefined
    const isScript = isSaved || (call.name === RUN_SCRIPT && this.#isMetaTool(RUN_SCRIPT, client))
    // Answers and states of the client belong to the script, not to its calls.
    const passed = isScript ? { _meta: rest._meta } : rest
    const result = await this.#execute(call, passed, { client, line }, { approval, about, isScript })
    if (approval.question) return approval.question
    const answerer = { tool: client.names.ofRegistered(about.name), isDispatched }
    const reader = { view: client.view, principal: line.principal }
    if (result.raw !== undefined)
      return approval.continued(await this.#bigResults.shortened(answerOf(result), answerer, reader))
    if (!result.ok) {
      const error = this.#withShownNames(result.error, client)
      const isUnknown = result.code === 'not_available'
      if (isUnknown && (!isDispatched || this.#isDenied(name, client)))
        throw new RpcError(INVALID_PARAMS, error)
      return answerOf({ ...result, error })
    }
    if (isScript) {
      const shown = { ...result, value: this.#withShownNames(result.value, client) }
      return this.#bigResults.shortened(answerOf(shown), answerer, reader)
    }
    if (!isSearchTool(call.name)) return this.#bigResults.shortened(answerOf(result), answerer, reader)
    return answerOf(new ShownFindings(this.#registry, client).of(result))
  }

  /**
   * The tool that a name means. Waits for its server if the server's tools are not known yet. `doubt` says why it is
   * unknown whether there is such a tool.
   */
  async #find(
    name: string,
    client: ClientSession,
    line: ClientLine,
  ): Promise<{ readonly tool: string | undefined } | { readonly doubt: string }> {
    const tool = this.#resolve(name, client)
    const { view } = client
    if (tool !== undefined || !this.#unlisted.mayHave(name, view) || this.#isMetaTool(name, client))
      return { tool }
    await this.#unlisted.beforeCall(name, view, line.signal)
    const found = this.#resolve(name, client)
    if (found !== undefined) return { tool: found }
    const doubt = this.#unlisted.doubtAbout(name, view)
    return doubt === undefined ? { tool: undefined } : { doubt }
  }

  /** Runs a call in its session, without the library's limits: the client has its own. */
  async #execute(
    call: { readonly name: string; readonly args: unknown },
    rest: Json,
    owner: TaskOwner,
    {
      approval,
      about,
      isScript,
    }: {
      readonly approval: Approval
      readonly about: Pick<ExecutedCall, 'name' | 'args'>
      readonly isScript: boolean
    },
  ): Promise<ToolResult> {
    const toolCallId = String(++this.#nextId)
    const executor = new ForwardedCall(this.#upstream, this.#tasks, { rest, owner, isInScript: isScript })
    const { client, line } = owner
    const caller = callerOf(client, line)
    const record = (call: Pick<ExecutedCall, 'name' | 'args'>) =>
      this.#auditor?.open(call, { caller, asked: approval, executor })
    const audited = record(about)
    const whole = audited ?? executor
    const [answer] = await client.session.execute([{ toolCallId, ...call }], {
      signal: line.signal,
      timeoutMs: 0,
      resultBudgetChars: Number.MAX_SAFE_INTEGER,
      maxIdenticalCalls: 0,
      // A client must not learn of tools that it may not use from the errors that it gets.
      hideDenied: true,
      onAsk: approval.onAsk,
      executor: isScript ? new ScriptedCalls(about.name, whole, (inner) => record(inner) ?? executor) : whole,
    })
    if (answer && !approval.question) audited?.ended(answer.result, unendedAs(answer.result))
    return answer?.result ?? { ok: false, code: 'execution_failed', error: 'the call has no result' }
  }

  /** The call of a dispatch tool, with the registered name of the tool that it names. */
  #dispatched(
    name: string,
    args: unknown,
    { target, client }: { readonly target: string | undefined; readonly client: ClientSession },
  ): { readonly name: string; readonly args: unknown } | { readonly refusal: string } {
    if (target === undefined || !isJson(args) || this.#isDenied(name, client))
      return { name, args: args ?? {} }
    const isShown = this.#registry.explain(name, client.session).state === 'visible'
    if (isShown) return { name, args: { ...args, name: target } }
    // A list that was fetched when tools were deferred still shows the dispatch tools.
    const tool = this.#registry.get(target)
    if (name === 'call_read_tool' && !(tool && isReadOnly(tool)))
      return { refusal: refusalToRead(String(args.name), true) }
    return { name: target, args: args.arguments ?? {} }
  }

  /** Without `call_tool`, there is no `call_read_tool` either. */
  #isDenied(dispatchTool: string, { session }: ClientSession): boolean {
    return [dispatchTool, 'call_tool'].some(
      (name) => this.#registry.explain(name, session).state === 'denied',
    )
  }

  /** The registered name that a name means, in any spelling; undefined for a tool that is not permitted. */
  #resolve(name: string, { session, names }: ClientSession): string | undefined {
    const exact = this.#registry.has(name) ? name : names.ofShown(name)?.registered
    if (exact === undefined) return session.scope().search.describe(name)?.name
    return this.#isHidden(exact, session) ? undefined : exact
  }

  #isHidden(registered: string, session: Session): boolean {
    return ['denied', 'quarantined'].includes(this.#registry.explain(registered, session).state)
  }

  /** A text of the registry with the names that clients see. */
  #withShownNames(text: string, { names, session }: ClientSession): string {
    return text.replace(/\bmcp__[\w.-]*\w/g, (name) =>
      this.#isHidden(name, session) ? name : names.shown(name),
    )
  }

  /** Whether this session shows a meta-tool of this name, which works whatever state the servers are in. */
  #isMetaTool(name: string, { session }: ClientSession): boolean {
    return !this.#registry.has(name) && this.#registry.explain(name, session).state === 'visible'
  }
}

/** Longer than any request in words. */
const MAX_QUERY_CHARACTERS = 10_000

/** Describes what is too long in the arguments of a dispatch tool or a search: names and queries are kept after their call. */
function oversizeOf(name: string, args: unknown): string | undefined {
  const most = isDispatchTool(name)
    ? MAX_CHARACTERS.name
    : isSearchTool(name)
      ? MAX_QUERY_CHARACTERS
      : undefined
  if (most === undefined || !isJson(args)) return undefined
  const long = ['name', 'query', 'pattern'].find((key) => String(args[key] ?? '').length > most)
  return long && `the ${long} for ${name} has more than ${most} characters; make it shorter. Nothing was run.`
}
