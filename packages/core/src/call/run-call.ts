import { describeError } from '../errors.ts'
import { canonicalJson, copyJson, isRecord } from '../json.ts'
import type { ReducerLookup } from '../reduce/reducer.ts'
import { copyResult, maskResult } from '../secrets/mask-results.ts'
import type { ReduceContext, Tool, ToolResult } from '../tool.ts'
import { failedWith, failure, readReturned, textOf, toForwardedResult } from '../tool-result.ts'
import { type Batch, partFailed } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { calledAs, checkCall, type OpenCall } from './open-call.ts'
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
  readonly #opened: OpenCall
  readonly #batch: Batch

  constructor(opened: OpenCall, batch: Batch) {
    this.#opened = opened
    this.#batch = batch
  }

  // Every result is masked last, whether it came from a tool, a hook, a reducer or an error about the arguments.
  async run(): Promise<ToolResult> {
    try {
      return this.#masked(await this.#answer())
    } catch (thrown) {
      return this.#maskedFailure(thrown)
    }
  }

  #answer(): ToolResult | Promise<ToolResult> {
    const { step, target } = this.#opened
    if (!('args' in step) || target === undefined)
      return 'answer' in step ? step.answer : failure('not_available', 'there is no such tool')
    if (this.#batch.hooks.length > 0) return this.#runHooked(target, step.args)
    return this.#isReduced(target)
      ? this.#runReduced(target, step.args)
      : this.#runOrRecall(target, step.args)
  }

  #isReduced({ entry }: CallTarget): boolean {
    const { isReduced, settings } = this.#batch
    return isReduced && (settings.reducers !== undefined || entry.tool.reduce !== undefined)
  }

  async #runReduced(target: CallTarget, args: unknown): Promise<ToolResult> {
    return this.#reduce(target, args, await this.#runOrRecall(target, args))
  }

  async #runHooked(target: CallTarget, validArgs: unknown): Promise<ToolResult> {
    const { runAfterHooks, runBeforeHooks } = await import('./hooks.ts')
    const { call, toolName } = this.#opened
    const { hooks, sessionId, turnCount, abort, state } = this.#batch
    const limits = { abort, schedule: state.schedule }
    const { toolCallId } = call
    const { source, tool } = target.entry
    const hooked = {
      ...{ toolCallId, name: toolName, source, sessionId, turnCount, context: this.#batch.context },
      ...(tool.title === undefined ? {} : { title: tool.title }),
      ...(tool.annotations === undefined ? {} : { annotations: { ...tool.annotations } }),
    }

    // A call that was started earlier has already passed these hooks.
    const before = this.#batch.lateResult
      ? { args: validArgs, isChanged: false }
      : await runBeforeHooks(hooks, { ...hooked, args: validArgs }, limits)
    if ('refusal' in before) return before.refusal
    const checked = before.isChanged
      ? checkCall(target, before.args, call, this.#batch)
      : { ok: true as const, args: validArgs }
    if (!checked.ok) {
      const { invalidArguments } = await import('./explain-call.ts')
      const how = { showsSchema: false, batch: this.#batch, note: ' (after a hook changed them)' }
      return invalidArguments(target, checked.error, how)
    }
    const { args } = checked
    // The person was asked about other arguments.
    if (before.isChanged && this.#batch.scope.asks(target)) {
      const { askAbout } = await import('./ask-about.ts')
      const [answer] = await askAbout([{ toolCallId, target, args }], this.#batch)
      if (answer !== undefined) return answer
    }

    const ran = this.#masked(before.answer ?? (await this.#runOrRecall(target, args)))
    const seen = await runAfterHooks(hooks, { ...hooked, args }, ran, limits, (error) =>
      this.#partFailed('hook', error),
    )
    return this.#reduce(target, args, seen)
  }

  #reduce(target: CallTarget, args: unknown, result: ToolResult): ToolResult {
    if (!this.#isReduced(target)) return result
    const { tool } = target.entry
    const { reducers } = this.#batch.settings
    // Masked before reducing too: a reducer cuts, and half a secret is not recognised.
    const whole = this.#masked(result)
    const context = { args, turnCount: this.#batch.turnCount, inputSchema: tool.inputSchema }
    const reduced = reduceResult(tool, whole, context, reducers, (error) =>
      this.#partFailed('reducer', error),
    )
    const isShorter = textOf(reduced).length < textOf(whole).length
    // The host's own reducer decides exactly what is shown.
    if (isShorter && reducers?.get(tool.name) === undefined) this.unreduced = textOf(whole)
    return reduced
  }

  /** Executes the tool, or returns the cached result of a read-only one. */
  #runOrRecall(target: CallTarget, args: unknown): ToolResult | Promise<ToolResult> {
    const { lateResult } = this.#batch
    if (lateResult !== undefined) return toForwardedResult(lateResult)
    const ttlMs = cacheTtlMs(target.entry.tool, this.#batch)
    return ttlMs > 0 ? this.#recallOrRun(target, args, ttlMs) : this.#run(target, args)
  }

  #run(target: CallTarget, args: unknown): ToolResult | Promise<ToolResult> {
    // A copy: hooks and reducers see the original arguments, even if the tool modifies its input.
    const isWatched = this.#batch.hooks.length > 0 || this.#isReduced(target)
    return runTool(target, isWatched ? copyJson(args) : args, this.#opened.call.toolCallId, this.#batch)
  }

  async #recallOrRun(target: CallTarget, args: unknown, ttlMs: number): Promise<ToolResult> {
    const { results, now } = this.#batch.state
    const key = results.key(target.entry, this.#batch, canonicalJson(args))
    const recalled = results.get(key, now())
    if (recalled) {
      this.isCached = true
      return recalled
    }
    const result = await this.#run(target, args)
    try {
      results.set(key, result, now() + ttlMs)
    } catch (thrown) {
      this.#partFailed('cache', describeError(thrown))
    }
    return result
  }

  #masked(result: ToolResult): ToolResult {
    const { mask } = this.#batch
    return mask ? maskResult(result, mask) : result
  }

  #maskedFailure(thrown: unknown): ToolResult {
    try {
      return this.#masked(failedWith(thrown))
    } catch {
      return failure('execution_failed', 'the result cannot be shown: masking secrets failed')
    }
  }

  #partFailed(part: 'hook' | 'reducer' | 'cache', error: string): void {
    const { call, toolName } = this.#opened
    partFailed(part, error, { toolCallId: call.toolCallId, toolName }, this.#batch)
  }
}

// A result about the files of one turn must not be reused in another.
function cacheTtlMs({ annotations, cacheTtlMs = 0, capabilities }: Tool, { attachments }: Batch): number {
  const readsAttachments = capabilities?.attachments !== undefined && attachments.length > 0
  return annotations?.readOnlyHint === true && !readsAttachments ? cacheTtlMs : 0
}

/**
 * The result after the tool's reducer: the host's for that name, else the tool's own. A reducer that throws or returns
 * anything but a result leaves the original, even if it changed its argument. `meta` is kept unless the reducer returns
 * another: models do not read it, so it need not be shorter.
 */
export function reduceResult(
  tool: Tool,
  result: ToolResult,
  context: ReduceContext,
  reducers: ReducerLookup | undefined,
  onFailure: (error: string) => void,
): ToolResult {
  try {
    const reducer = reducers?.get(tool.name) ?? tool
    if (reducer.reduce === undefined) return result
    const reduced: unknown = reducer.reduce(copyResult(result), context)
    if (reduced === undefined || reduced === null) return result
    const read = isRecord(reduced) && typeof reduced.ok === 'boolean' ? readReturned(reduced) : NOT_A_RESULT
    if (typeof read !== 'string') {
      if (result.meta !== undefined) read.meta ??= result.meta
      if (result.raw !== undefined) read.raw = result.raw
      return read
    }
    onFailure(read)
  } catch (thrown) {
    onFailure(describeError(thrown))
  }
  return result
}

const NOT_A_RESULT = 'it returned something other than a result'
