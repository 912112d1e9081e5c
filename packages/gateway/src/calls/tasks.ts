import type { ToolResult } from '@toolcrib/core'
import { textOf } from '@toolcrib/core/internal'
import type { ClientLine } from '../asks/client-line.ts'
import { type Auditor, callerOf, digestOf } from '../audit/audited-call.ts'
import { INVALID_PARAMS, isJson, type Json, MISSING_CAPABILITY, RpcError } from '../json-rpc.ts'
import type { RequestStates } from '../modern/request-states.ts'
import { TASKS_EXTENSION } from '../protocol.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import type { BigResults } from './big-results.ts'
import { answerOf, resultOf } from './call-answer.ts'
import type { Upstream } from './upstream.ts'

/**
 * Tasks of modern servers. The id that a client gets contains the tool, its server and the server's own id, sealed for
 * the client's token and profile: nothing is stored here, and nobody else can use the task. The result of a task passes
 * through the session like that of a call: the host's `after_tool_call`, reducers and masking apply, a large one is
 * shortened, and its end is recorded when its client first hears of it.
 */
export class Tasks {
  readonly #states: RequestStates
  readonly #upstream: Upstream
  readonly #auditor: Auditor | undefined
  readonly #bigResults: BigResults
  /** The latest tasks whose end was recorded: clients ask again. */
  readonly #recorded = new Set<string>()
  #nextId = 0

  constructor(
    states: RequestStates,
    upstream: Upstream,
    { auditor, bigResults }: { readonly auditor: Auditor | undefined; readonly bigResults: BigResults },
  ) {
    this.#states = states
    this.#upstream = upstream
    this.#auditor = auditor
    this.#bigResults = bigResults
  }

  /** The task that a call started, as its client gets it. */
  async issued(
    result: Json & { readonly taskId: string },
    { server, tool, args }: BegunCall,
    owner: TaskOwner,
  ): Promise<Json> {
    const { taskId } = result
    const digest = digestOf(args)
    const sealed = await this.#states.sealForever({ server, tool, taskId, digest }, boundTo(owner))
    return { ...(await this.#seen(result, tool, owner)), taskId: sealed }
  }

  /** Answers a request about a task with the server's answer. */
  async answer(method: string, params: Json, owner: TaskOwner): Promise<Json> {
    const { client, line } = owner
    if (!offersTasks(line.capabilities))
      throw new RpcError(MISSING_CAPABILITY, `${method} needs a client with the tasks extension`, {
        requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
      })
    const { taskId } = params
    const opened = typeof taskId === 'string' ? await this.#states.open(taskId, boundTo(owner)) : undefined
    const { server, tool, digest } = opened ?? {}
    if (
      !opened ||
      typeof server !== 'string' ||
      typeof tool !== 'string' ||
      !client.view.permitsServer(server)
    )
      throw new RpcError(
        INVALID_PARAMS,
        'Unknown task; it may have been of another client, or of another gateway',
      )
    const sent = { method, params: { ...params, taskId: opened.taskId } }
    const answer = await this.#upstream.send(server, sent, line)
    const seen = await this.#seen(answer, tool, owner)
    this.#record(seen, { id: String(taskId), name: tool, digest: String(digest) }, owner)
    return seen.taskId === undefined ? seen : { ...seen, taskId }
  }

  /** Records how a task ended, once. Whether its call was allowed is in the record of the call. */
  #record({ status, result, error }: Json, { id, ...call }: EndedTask, { client, line }: TaskOwner): void {
    const isCancelled = status === 'cancelled'
    if (!this.#auditor || !(isCancelled || isJson(result) || isJson(error)) || this.#recorded.has(id)) return
    if (this.#recorded.size === MAX_RECORDED) this.#recorded.clear()
    this.#recorded.add(id)
    const isOk = isJson(result) && result.isError !== true
    const outcome = isCancelled ? 'cancelled' : isOk ? 'ok' : 'execution_failed'
    this.#auditor.write(call, { ...callerOf(client, line), decision: 'allow', by: 'policy', outcome })
  }

  /** A task with its result or error, after the host's hooks, reducers and masking. */
  async #seen(task: Json, tool: string, owner: TaskOwner): Promise<Json> {
    const { result, error } = task
    const seen: Record<string, unknown> = { ...task }
    if (isJson(result)) {
      const kept = result.resultType === undefined ? {} : { resultType: result.resultType }
      const { names, view } = owner.client
      seen.result = await this.#bigResults.shortened(
        { ...kept, ...answerOf(await this.#pass(resultOf(result), tool, owner)) },
        { tool: names.ofRegistered(tool), isDispatched: false },
        { view, principal: owner.line.principal },
      )
    }
    if (isJson(error)) {
      const said = String(error.message)
      const text = textOf(await this.#pass({ ok: false, code: 'execution_failed', error: said }, tool, owner))
      // Other fields of the error may repeat what was removed from its text.
      if (text !== said) seen.error = { code: error.code, message: text }
    }
    return seen
  }

  async #pass(
    lateResult: ToolResult,
    tool: string,
    { client: { session }, line }: TaskOwner,
  ): Promise<ToolResult> {
    const toolCallId = `task-${++this.#nextId}`
    const [passed] = await session.execute([{ toolCallId, name: tool, args: {} }], {
      signal: line.signal,
      timeoutMs: 0,
      resultBudgetChars: Number.MAX_SAFE_INTEGER,
      lateResult,
    })
    return passed?.result ?? { ok: false, code: 'execution_failed', error: 'the task has no result' }
  }
}

/** Whether a server answered a call with a task. */
export function isTask(result: Json): result is Json & { readonly taskId: string } {
  return result.resultType === 'task' && typeof result.taskId === 'string'
}

/** The client of a task, in its session. */
export interface TaskOwner {
  readonly client: ClientSession
  readonly line: ClientLine
}

/** The call that a task belongs to: the registered name of its tool, its server, and the arguments. */
interface BegunCall {
  readonly server: string
  readonly tool: string
  readonly args: unknown
}

/** A task by the id that its client has, with its tool and the digest of the call's arguments. */
interface EndedTask {
  readonly id: string
  readonly name: string
  readonly digest: string
}

const MAX_RECORDED = 10_000

/** Whether a client or a server with these capabilities supports tasks. */
export function offersTasks({ extensions }: Json): boolean {
  return isJson(extensions) && extensions[TASKS_EXTENSION] !== undefined
}

function boundTo({ client: { view }, line }: TaskOwner): string {
  return JSON.stringify(['task', line.principal, view.profile ?? null])
}
