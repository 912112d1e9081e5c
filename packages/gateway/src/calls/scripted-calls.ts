import type { CallExecutor, ExecutedCall, ToolContext, ToolResult } from '@toolcrib/core'
import { AuditedCall } from '../audit/audited-call.ts'

export const RUN_SCRIPT = 'run_script'

/** Runs a script of a client and its calls, each with a record of its own. */
export class ScriptedCalls implements CallExecutor {
  readonly #script: CallExecutor
  readonly #executorOf: (call: ExecutedCall) => CallExecutor

  readonly #name: string

  /** `name` is that of the script's own call: `run_script`, or a saved script. */
  constructor(name: string, script: CallExecutor, executorOf: (call: ExecutedCall) => CallExecutor) {
    this.#name = name
    this.#script = script
    this.#executorOf = executorOf
  }

  execute(call: ExecutedCall, context: ToolContext): ToolResult | Promise<ToolResult> | undefined {
    if (call.name === this.#name)
      return this.#script.execute(call, context) as ReturnType<ScriptedCalls['execute']>
    const executor = this.#executorOf(call)
    const answer = executor.execute(call, context)
    const end = (result: ToolResult, outcome?: string) => {
      if (executor instanceof AuditedCall) executor.ended(result, outcome)
      return result
    }
    // A tool of this process runs itself.
    if (answer === undefined) end({ ok: true, value: '' }, 'started')
    return answer && Promise.resolve(answer as ToolResult).then((result) => end(result))
  }
}
