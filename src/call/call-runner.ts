import { describeError } from '../errors.ts'
import type { Emit } from '../events.ts'
import { SchemaCache } from '../schema/check-arguments.ts'
import { maskFor } from '../secrets/mask.ts'
import { type Schedule, scheduleWithTimers } from '../time.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import { failedWith, failure } from './answers.ts'
import type { Batch, CallState } from './batch.ts'
import type { CallContext, CallEnvironment, CallSettings } from './call-environment.ts'
import { hookList } from './hooks.ts'
import { IdenticalCalls } from './identical-calls.ts'
import { readContext } from './read-context.ts'
import { ResultCache } from './result-cache.ts'
import { runCall } from './run-call.ts'
import { BatchAbort } from './run-within.ts'
import { fairShare } from './share-budget.ts'
import { Slots } from './slots.ts'
import { trimResults } from './trim-results.ts'

/** What a runner takes from the world around it. */
export interface CallRunnerOptions {
  readonly now: () => number
  /** How deadlines are timed; the platform's timers by default. */
  readonly schedule?: Schedule
}

/** Runs batches of calls. One for a registry: it remembers, across batches, what must be remembered. */
export class CallRunner {
  readonly #state: CallState

  constructor({ now, schedule = scheduleWithTimers }: CallRunnerOptions) {
    this.#state = {
      now: steady(now),
      schedule,
      schemas: new SchemaCache(),
      identicalCalls: new IdenticalCalls(),
      results: new ResultCache(),
      slots: new WeakMap(),
    }
  }

  /**
   * Runs all calls at once and answers each, in the order they came. Never throws, whatever a tool, a hook or
   * anything else around a call does: what goes wrong is that call's answer.
   */
  async execute(
    calls: readonly ToolCall[],
    context: CallContext,
    environment: CallEnvironment,
  ): Promise<CallResult[]> {
    const batchCalls = readCalls(calls)
    try {
      return await this.#run(batchCalls, readContext(context), environment)
    } catch (thrown) {
      const result = hiddenFailure(thrown, environment.settings)
      return batchCalls.map(({ toolCallId, name }) => ({ toolCallId, name, result, durationMs: 0 }))
    }
  }

  async #run(
    calls: readonly ToolCall[],
    context: CallContext,
    environment: CallEnvironment,
  ): Promise<CallResult[]> {
    const budgetChars = readBudget(context.resultBudgetChars, environment.settings.resultBudgetChars)
    const batch = this.#openBatch(context, environment, fairShare(budgetChars, calls.length))
    try {
      const answered = await Promise.all(calls.map((call) => runCall(call, batch)))
      return await trimResults(answered, budgetChars, batch)
    } finally {
      batch.abort.close()
    }
  }

  #openBatch(context: CallContext, environment: CallEnvironment, shareChars: number): Batch {
    const { maxParallel } = context
    const { settings } = environment
    return {
      environment,
      settings,
      state: this.#state,
      sessionId: context.sessionId,
      turnCount: context.turnCount ?? 0,
      isDryRun: context.dryRun === true,
      timeoutMs: context.timeoutMs ?? settings.timeoutMs,
      attachments: context.attachments ?? [],
      onProgress: context.onProgress,
      hooks: hookList(settings.hooks),
      abort: new BatchAbort(context.signal),
      slots: maxParallel !== undefined && maxParallel >= 1 ? new Slots(Math.floor(maxParallel)) : undefined,
      shareChars,
      mask: maskFor(settings.backends),
      emit: quietly(settings.emit),
    }
  }
}

/** A clock that never throws: one that fails stands still. */
function steady(now: () => number): () => number {
  let last = 0
  return () => {
    try {
      const time = now()
      if (Number.isFinite(time)) last = time
    } catch {}
    return last
  }
}

// Nothing here is masked any more, and what failed may have been the masking: only the kind of failure is told.
function hiddenFailure(thrown: unknown, { backends }: CallSettings) {
  try {
    const mask = maskFor(backends)
    return mask ? failure('execution_failed', mask(describeError(thrown))) : failedWith(thrown)
  } catch {
    return failure('execution_failed', 'the calls could not be run')
  }
}

function readCalls(calls: unknown): ToolCall[] {
  try {
    return Array.isArray(calls) ? Array.from(calls, readCall) : []
  } catch {
    return []
  }
}

/** A call as it came, with empty texts for what it lacks: it is still answered. */
function readCall(given: unknown): ToolCall {
  try {
    const { toolCallId, name, args } = given as { [key: string]: unknown }
    return { toolCallId: asText(toolCallId), name: asText(name), args }
  } catch {
    return { toolCallId: '', name: '', args: undefined }
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function readBudget(ofContext: number | undefined, ofRegistry: number): number {
  const budget = ofContext ?? ofRegistry
  return Number.isNaN(budget) ? ofRegistry : Math.max(0, budget)
}

function quietly(emit: Emit): Emit {
  return (event) => {
    try {
      emit(event)
    } catch {
      // A listener that fails is no reason for a call to.
    }
  }
}
