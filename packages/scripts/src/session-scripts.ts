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
  /** Notes whose calls these are, until the function that it returns is called. */
  readonly #enter: (session: ScriptsOfSession, ids: readonly string[]) => () => void
  /** The contexts of the batches under way, by the ids of their calls. */
  readonly #contexts = new Map<string, Partial<CallContext>>()
  #scope: SessionScope | undefined

  constructor(
    engine: ScriptRunner,
    powers: ScriptPowers,
    enter: (session: ScriptsOfSession, ids: readonly string[]) => () => void,
  ) {
    this.#engine = engine
    this.#enter = enter
    this.#powers = powers
  }

  /** A script that one of these calls runs makes its calls in the same context. Returns a function to call at their end. */
  begin(calls: readonly ToolCall[], context: Partial<CallContext>): () => void {
    const ids = calls.map(({ toolCallId }) => toolCallId)
    const leave = this.#enter(this, ids)
    for (const id of ids) this.#contexts.set(id, context)
    return () => {
      leave()
      for (const id of ids) this.#contexts.delete(id)
    }
  }

  /** Runs a saved script, which is the tool of a call under way. */
  runSaved(
    {
      code,
      input,
      uses,
    }: { readonly code: string; readonly input: unknown; readonly uses: readonly string[] },
    { toolCallId, signal, name }: Pick<ToolContext, 'toolCallId' | 'signal'> & { readonly name: string },
  ): Promise<ToolResult> {
    const scope = this.#currentScope()
    const target = scope.resolve({ toolCallId, name, args: {} })
    const saved = { uses, isApproved: target !== undefined && scope.asks(target) }
    const host = this.#host(this.#contexts.get(toolCallId), signal, saved)
    return this.#engine.runSaved({ code, input, toolCallId }, host)
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

  #host(
    context = this.#powers.idleContext,
    signal = new AbortController().signal,
    saved?: { readonly uses: readonly string[]; readonly isApproved: boolean },
  ): ScriptHost {
    return new ScriptCalls(this.#powers, { context, scope: () => this.#currentScope(), signal, saved })
  }

  #currentScope(): SessionScope {
    if (!this.#scope?.isCurrent) this.#scope = this.#powers.makeScope()
    return this.#scope
  }
}
