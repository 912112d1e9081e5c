import type { CallContext, Tool, ToolCall, ToolContext, ToolResult } from '@toolcrib/core'
import type { PausedScript, ScriptPowers, SessionScope, SessionScripts } from '@toolcrib/core/internal'
import { runScript } from './run-script.ts'
import { ScriptCalls } from './script-calls.ts'
import type { ScriptHost, ScriptRunner } from './script-host.ts'

/** The scripts of one session: those that the model runs, and those that wait for a person. */
export class ScriptsOfSession implements SessionScripts {
  readonly tool: Tool = runScript((code, ctx) => this.#run(code, ctx)) as Tool
  readonly #engine: ScriptRunner
  readonly #powers: ScriptPowers
  /** The contexts of the batches under way, by the ids of their calls. */
  readonly #contexts = new Map<string, Partial<CallContext>>()
  #scope: SessionScope | undefined

  constructor(engine: ScriptRunner, powers: ScriptPowers) {
    this.#engine = engine
    this.#powers = powers
  }

  /** A script that one of these calls runs makes its calls in the same context. Returns a function to call at their end. */
  begin(calls: readonly ToolCall[], context: Partial<CallContext>): () => void {
    const ids = calls.map(({ toolCallId }) => toolCallId)
    for (const id of ids) this.#contexts.set(id, context)
    return () => {
      for (const id of ids) this.#contexts.delete(id)
    }
  }

  async #run(
    code: string,
    { toolCallId, signal }: Pick<ToolContext, 'toolCallId' | 'signal'>,
  ): Promise<ToolResult> {
    return this.#engine.run({ code, toolCallId }, this.#host(this.#contexts.get(toolCallId), signal))
  }

  /** The scripts that wait for a person. */
  async paused(): Promise<readonly PausedScript[]> {
    return this.#engine.paused(this.#host())
  }

  /**
   * Notes which calls of a paused script may run, by their number. Rejects with `config-invalid` if this session has no such
   * script.
   */
  async decide(run: string, decisions: Readonly<Record<number, boolean>>): Promise<void> {
    return this.#engine.decide(run, decisions, this.#host())
  }

  /** Continues a script of which every call that waits was decided, and returns its result. */
  async resume(run: string): Promise<ToolResult> {
    return this.#engine.resume(run, this.#host())
  }

  #host(context = this.#powers.idleContext, signal = new AbortController().signal): ScriptHost {
    const scope = () => {
      if (!this.#scope?.isCurrent) this.#scope = this.#powers.makeScope()
      return this.#scope
    }
    return new ScriptCalls(this.#powers, { context, scope, signal })
  }
}
