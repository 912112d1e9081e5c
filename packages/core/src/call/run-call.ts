import { describeError } from '../errors.ts'
import { canonicalJson, copyJson } from '../json.ts'
import { maskResult } from '../secrets/mask-results.ts'
import type { Tool, ToolResult } from '../tool.ts'
import { failedWith, failure, textOf, toForwardedResult } from '../tool-result.ts'
import { type Batch, partFailed } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { calledAs, type OpenCall } from './open-call.ts'
import { runTool } from './run-tool.ts'

/** A call with its result, before the batch's budget is shared. */
export interface AnsweredCall extends OpenCall {
  readonly result: ToolResult
  readonly durationMs: number
  /** The text before it was reduced, if the tool's own reducer shortened it. */
  readonly unreduced: string | undefined
}

/** Runs an open call to its reduced result. Never throws. */
export async function runCall(opened: OpenCall, batch: Batch): Promise<AnsweredCall> {
  const { call, toolName, startedAt, target, isUse, step } = opened
  const { toolCallId } = call
  const { state, sessionId, emit } = batch
  const running = new RunningCall(opened, batch)
  const run = () => running.run()
  const result = isTraced()
    ? await (await import('./trace.ts')).traceCall({ name: toolName, toolCallId, sessionId }, run)
    : await run()
  const durationMs = state.now() - startedAt
  emit({
    type: 'call-finished',
    sessionId,
    toolCallId,
    name: toolName,
    ok: result.ok,
    durationMs,
    chars: textOf(result).length,
    ...calledAs(call, toolName),
    ...(result.ok ? undefined : { code: result.code }),
    ...(running.isCached ? { isCached: true } : undefined),
  })
  // Field by field: spreading the open call takes longer than the rest of this function.
  const { unreduced } = running
  return { call, toolName, startedAt, target, isUse, step, result, durationMs, unreduced }
}

/** Whether OpenTelemetry is there: most programs do not need the code for it. */
function isTraced(): boolean {
  return Symbol.for('opentelemetry.js.api.1') in globalThis
}

/** One running call: hooks, the tool or the cache, the reducer, the mask. */
class RunningCall {
  isCached = false
  unreduced: string | undefined
  readonly opened: OpenCall
  readonly batch: Batch

  constructor(opened: OpenCall, batch: Batch) {
    this.opened = opened
    this.batch = batch
  }

  // Every result is masked last, whether it came from a tool, a hook, a reducer or an error about the arguments.
  async run(): Promise<ToolResult> {
    try {
      return this.masked(await this.#answer())
    } catch (thrown) {
      return this.#maskedFailure(thrown)
    }
  }

  #answer(): ToolResult | Promise<ToolResult> {
    const { step, target } = this.opened
    if (!('args' in step) || target === undefined)
      return 'answer' in step ? step.answer : failure('not_available', 'there is no such tool')
    return this.isWatched(target) ? this.#runWatched(target, step.args) : this.runOrRecall(target, step.args)
  }

  /** Whether somebody else sees its arguments or its result. */
  isWatched(target: CallTarget): boolean {
    return this.batch.hooks.length > 0 || this.isReduced(target)
  }

  /** Most calls have neither hooks nor reducers. */
  async #runWatched(target: CallTarget, args: unknown): Promise<ToolResult> {
    const { runWatched } = await import('./run-watched.ts')
    return runWatched(this, target, args)
  }

  isReduced({ entry }: CallTarget): boolean {
    const { isReduced, settings } = this.batch
    return isReduced && (settings.reducers !== undefined || entry.tool.reduce !== undefined)
  }

  /** Executes the tool, or returns the cached result of a read-only one. */
  runOrRecall(target: CallTarget, args: unknown): ToolResult | Promise<ToolResult> {
    const { lateResult } = this.batch
    if (lateResult !== undefined) return toForwardedResult(lateResult)
    const ttlMs = cacheTtlMs(target.entry.tool, this.batch)
    return ttlMs > 0 ? this.#recallOrRun(target, args, ttlMs) : this.#run(target, args)
  }

  #run(target: CallTarget, args: unknown): ToolResult | Promise<ToolResult> {
    // A copy: hooks and reducers see the original arguments, even if the tool modifies its input.
    return runTool(
      target,
      this.isWatched(target) ? copyJson(args) : args,
      this.opened.call.toolCallId,
      this.batch,
    )
  }

  async #recallOrRun(target: CallTarget, args: unknown, ttlMs: number): Promise<ToolResult> {
    const { now } = this.batch.state
    const results = await this.batch.state.loadResults()
    const key = results.key(target.entry, this.batch, canonicalJson(args))
    const recalled = results.get(key, now())
    if (recalled) {
      this.isCached = true
      return recalled
    }
    const result = await this.#run(target, args)
    try {
      results.set(key, result, now() + ttlMs)
    } catch (thrown) {
      this.partFailed('cache', describeError(thrown))
    }
    return result
  }

  masked(result: ToolResult): ToolResult {
    const { mask } = this.batch
    return mask ? maskResult(result, mask) : result
  }

  #maskedFailure(thrown: unknown): ToolResult {
    try {
      return this.masked(failedWith(thrown))
    } catch {
      return failure('execution_failed', 'the result cannot be shown: masking secrets failed')
    }
  }

  partFailed(part: 'hook' | 'reducer' | 'cache', error: string): void {
    const { call, toolName } = this.opened
    partFailed(part, error, { toolCallId: call.toolCallId, toolName }, this.batch)
  }
}

// A result about the files of one turn must not be reused in another.
function cacheTtlMs({ annotations, cacheTtlMs = 0, capabilities }: Tool, { attachments }: Batch): number {
  const readsAttachments = capabilities?.attachments !== undefined && attachments.length > 0
  return annotations?.readOnlyHint === true && !readsAttachments ? cacheTtlMs : 0
}
