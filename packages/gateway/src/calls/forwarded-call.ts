import { type CallExecutor, type ExecutedCall, ToolcribError, type ToolResult } from '@toolcrib/core'
import { ServerError } from '@toolcrib/mcp'
import { type Json, RpcError } from '../json-rpc.ts'
import { failureOf, resultOf } from './call-answer.ts'
import { isTask, type TaskOwner, type Tasks } from './tasks.ts'
import type { Upstream } from './upstream.ts'

/** One call of a client, sent to its server in place of the registered tool. */
export class ForwardedCall implements CallExecutor {
  readonly #upstream: Upstream
  readonly #tasks: Tasks
  /** The client's parameters besides name and arguments. */
  readonly #rest: Json
  readonly #owner: TaskOwner
  readonly #isInScript: boolean

  constructor(
    upstream: Upstream,
    tasks: Tasks,
    {
      rest,
      owner,
      isInScript,
    }: { readonly rest: Json; readonly owner: TaskOwner; readonly isInScript: boolean },
  ) {
    this.#isInScript = isInScript
    this.#upstream = upstream
    this.#tasks = tasks
    this.#rest = rest
    this.#owner = owner
  }

  execute({ name, source, ownName, args }: ExecutedCall): Promise<ToolResult> | undefined {
    if (source.kind !== 'mcp') return undefined
    return this.#send(source.server, name, { ...this.#rest, name: ownName, arguments: args })
  }

  async #send(server: string, tool: string, params: Json): Promise<ToolResult> {
    try {
      const answer = await this.#upstream.send(
        server,
        { method: 'tools/call', params },
        this.#owner.line,
        this.#isInScript,
      )
      return resultOf(
        isTask(answer)
          ? await this.#tasks.issued(answer, { server, tool, args: params.arguments }, this.#owner)
          : answer,
      )
    } catch (error) {
      if (error instanceof ToolcribError) return { ok: false, code: 'execution_failed', error: error.message }
      if (error instanceof ServerError || error instanceof RpcError) return failureOf(error)
      throw error
    }
  }
}
