import type { Emit } from '../events.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { Batch, CallState } from './batch.ts'
import type { CallContext, CallEnvironment } from './call-environment.ts'
import { SchemaCache } from './check-arguments.ts'
import { BatchAbort, type Schedule, scheduleWithTimers } from './deadline.ts'
import { Gate } from './gate.ts'
import { hookList } from './hooks.ts'
import { IdenticalCalls } from './identical-calls.ts'
import { ResultCache } from './result-cache.ts'
import { runCall } from './run-call.ts'
import { fairShare } from './share-budget.ts'
import { trimResults } from './trim-results.ts'

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
      now,
      schedule,
      schemas: new SchemaCache(),
      identicalCalls: new IdenticalCalls(),
      results: new ResultCache(),
      gates: new WeakMap(),
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
    const batchCalls = Array.isArray(calls) ? calls.map(readCall) : []
    const budgetChars = readBudget(context?.resultBudgetChars, environment.resultBudgetChars)
    const shareChars = fairShare(budgetChars, batchCalls.length)
    const batch = this.#openBatch(context ?? {}, environment, shareChars)
    try {
      const answered = await Promise.all(batchCalls.map((call) => runCall(call, batch)))
      return await trimResults(answered, budgetChars, batch)
    } finally {
      batch.abort.close()
    }
  }

  #openBatch(context: Partial<CallContext>, environment: CallEnvironment, shareChars: number): Batch {
    const { maxParallel } = context
    return {
      environment,
      state: this.#state,
      sessionId: String(context.sessionId ?? ''),
      turnCount: context.turnCount ?? 0,
      isDryRun: context.dryRun === true,
      timeoutMs: context.timeoutMs,
      attachments: context.attachments ?? [],
      hooks: hookList(environment.hooks),
      abort: new BatchAbort(context.signal),
      gate: maxParallel !== undefined && maxParallel >= 1 ? new Gate(Math.floor(maxParallel)) : undefined,
      shareChars,
      emit: quietly(environment.emit),
    }
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
