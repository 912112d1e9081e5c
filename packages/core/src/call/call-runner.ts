import {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  anyValue,
  aSignal,
  checkOptions,
  either,
  milliseconds,
  numberFrom,
  type OptionRules,
  objectWith,
  trueOrFalse,
  type ValueCheck,
  wholeNumber,
} from '../check-options.ts'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { type Mask, maskFor } from '../secrets/mask-results.ts'
import type { CallResult, JsonSchema, ToolCall, ToolResult } from '../tool.ts'
import { failure } from '../tool-result.ts'
import type { AskAnswer, AskHandler } from './ask.ts'
import type { ValidCall } from './ask-about.ts'
import type { Batch, HookList } from './batch.ts'
import type { CallContext, CallHooks, CallScope, CallSettings } from './call-scope.ts'
import type { CallState } from './call-state.ts'
import { type OpenCall, openCall } from './open-call.ts'
import { readCalls } from './read-calls.ts'
import { runCall } from './run-call.ts'
import { BatchAbort } from './run-within.ts'
import { Slots } from './slots.ts'
import type { trimResults } from './trim-results.ts'

/** Runs batches of calls. One per registry; its state lasts across batches. */
export class CallRunner {
  readonly #settings: CallSettings
  readonly #settingsWithoutSpill: CallSettings
  /** Loaded with the first result. */
  #trimResults: typeof trimResults | undefined
  readonly #state: CallState
  readonly #mask: Mask | undefined

  constructor(settings: CallSettings, state: CallState) {
    this.#settings = settings
    this.#settingsWithoutSpill = { ...settings, spill: undefined }
    this.#state = state
    this.#mask = maskFor(settings.backends)
  }

  /**
   * Runs all calls in parallel and returns a result for each, in their order. Never throws, whatever a tool or a hook
   * does: failures become that call's result. A context with an unknown key or a value out of range denies every call,
   * and so does null, for a context that could not be read.
   */
  async execute(
    calls: readonly ToolCall[],
    context: Partial<CallContext> | null,
    scope: CallScope,
  ): Promise<CallResult[]> {
    const batchCalls = readCalls(calls)
    let read: CallContext
    try {
      read = readContext(context)
    } catch (thrown) {
      return answerAll(batchCalls, this.#failBatch('denied', thrown))
    }
    try {
      return await this.#run(batchCalls, read, scope)
    } catch (thrown) {
      return answerAll(batchCalls, this.#failBatch('execution_failed', thrown))
    }
  }

  /** Every call is resolved and checked before the first one runs, so that a search knows what the batch uses. */
  async #run(calls: readonly ToolCall[], context: CallContext, scope: CallScope): Promise<CallResult[]> {
    const budgetChars = context.resultBudgetChars ?? this.#settings.resultBudgetChars
    const schemas = this.#state.schemas ?? (await this.#state.loadSchemas())
    if (calls.some((call) => schemas.lacksRareChecks(parametersOf(call, scope))))
      await schemas.loadRareChecks()
    // What each call is guaranteed before any result is known.
    const shareChars = Math.floor(budgetChars / Math.max(calls.length, 1))
    const batch = this.#openBatch(context, scope, { shareChars, schemas })
    try {
      const checked = calls.map((call) => openCall(call, batch))
      const isExplained = checked.every(({ step }) => 'args' in step || 'answer' in step)
      const opened = await withAnswers(isExplained ? checked : await explained(checked, batch), batch)
      const uses = opened.flatMap(({ target, isUse }) => (isUse && target ? [target] : []))
      if (uses.length > 0) scope.noteUses(uses)
      const seen = opened.flatMap(({ target, step }) =>
        target && 'showsSchema' in step && step.showsSchema ? [target] : [],
      )
      if (seen.length > 0) scope.noteSchemas(seen)
      const [only] = opened.length === 1 ? opened : []
      const answered = only
        ? [await runCall(only, batch)]
        : await Promise.all(opened.map((call) => runCall(call, batch)))
      this.#trimResults ??= (await import('./trim-results.ts')).trimResults
      const trimmed = await this.#trimResults(answered, budgetChars, batch)
      return trimmed.map((result, index) => {
        const { target, isUse } = opened[index] ?? {}
        // Before a use, and in a dry run, the text is our own; after it even an error about arguments quotes the
        // schema.
        return isUse && target ? marked(result, scope.untrustedServers(target, result.result)) : result
      })
    } finally {
      batch.abort.close()
    }
  }

  /**
   * Asks about calls that are held, all at once; undefined if nobody can be asked. For programs over tools, which wait for
   * the answers themselves.
   */
  async ask(
    calls: readonly ValidCall[],
    context: Partial<CallContext>,
    scope: CallScope,
  ): Promise<readonly AskAnswer[] | undefined> {
    const schemas = this.#state.schemas ?? (await this.#state.loadSchemas())
    const batch = this.#openBatch(readContext(context), scope, { shareChars: 0, schemas })
    try {
      return batch.onAsk && (await (await import('./ask-about.ts')).answersTo(calls, batch))
    } finally {
      batch.abort.close()
    }
  }

  #openBatch(context: CallContext, scope: CallScope, parts: Pick<Batch, 'shareChars' | 'schemas'>): Batch {
    const { maxParallel } = context
    const settings = scope.canReadResults ? this.#settings : this.#settingsWithoutSpill
    const timeoutMs = context.timeoutMs ?? settings.timeoutMs
    return {
      scope,
      settings,
      state: this.#state,
      sessionId: context.sessionId,
      turnCount: context.turnCount ?? 0,
      isDryRun: context.dryRun === true,
      timeoutMs,
      attachments: context.attachments ?? [],
      onProgress: context.onProgress,
      hooks: hookList(context.hooks, settings.hooks, timeoutMs),
      maxIdenticalCalls: context.maxIdenticalCalls ?? settings.maxIdenticalCalls,
      onAsk: context.onAsk ?? settings.onAsk ?? context.pausing?.ask,
      pausing: context.pausing,
      context: context.context ?? settings.context,
      executor: context.executor,
      lateResult: context.lateResult,
      hidesDenied: context.hideDenied === true,
      isReduced: context.reduce !== false,
      abort: new BatchAbort(context.signal),
      slots: maxParallel === undefined ? undefined : new Slots(maxParallel),
      ...parts,
      mask: this.#mask,
      emit: settings.emit,
    }
  }

  // If masking itself failed, only the kind of failure is shown.
  #failBatch(code: 'denied' | 'execution_failed', thrown: unknown): ToolResult {
    try {
      const error = describeError(thrown)
      return failure(code, this.#mask ? this.#mask(error) : error)
    } catch {
      return failure(code, 'the calls could not be run')
    }
  }
}

function parametersOf(call: ToolCall, scope: CallScope): JsonSchema | undefined {
  try {
    return scope.resolve(call)?.entry.definition.parameters
  } catch {
    // Its result will say so.
    return undefined
  }
}

/** The calls with the answers of those that run nothing. */
async function explained(opened: readonly OpenCall[], batch: Batch): Promise<readonly OpenCall[]> {
  const { explainCall } = await import('./explain-call.ts')
  return opened.map((call) => explainCall(call, batch))
}

async function withAnswers(opened: readonly OpenCall[], batch: Batch): Promise<readonly OpenCall[]> {
  const isAsked = ({ target, step }: OpenCall) => target && 'args' in step && batch.scope.asks(target)
  if (batch.lateResult !== undefined || !opened.some(isAsked)) return opened
  return (await import('./ask-about.ts')).withAnswers(opened, batch)
}

function answerAll(calls: readonly ToolCall[], result: ToolResult): CallResult[] {
  return calls.map(({ toolCallId, name }) => ({ toolCallId, name, result, durationMs: 0 }))
}

function marked(result: CallResult, [server, ...more]: readonly string[]): CallResult {
  if (server === undefined) return result
  return { ...result, untrusted: more.length === 0 ? { server } : { server, servers: [server, ...more] } }
}

/** Hooks, one or a list of them, with known keys only: a misspelt hook must not silently do nothing. */
export const callHooks: ValueCheck = {
  expected: 'hooks with before_tool_call or after_tool_call, or a list of such',
  accepts: (value) => value !== null && typeof value === 'object',
}

const RULES: OptionRules<CallContext> = {
  sessionId: either(anyText, numberFrom(Number.NEGATIVE_INFINITY)),
  turnCount: numberFrom(0),
  resultBudgetChars: numberFrom(0),
  dryRun: trueOrFalse,
  signal: aSignal,
  timeoutMs: milliseconds(),
  maxParallel: wholeNumber({ from: 1 }),
  attachments: anyList,
  context: anyValue,
  onProgress: anyFunction,
  hooks: callHooks,
  onAsk: anyFunction,
  pausing: objectWith('ask', 'earlier', 'pause'),
  meters: anyList,
  maxIdenticalCalls: wholeNumber(),
  executor: objectWith('execute'),
  lateResult: anyObject,
  hideDenied: trueOrFalse,
  reduce: trueOrFalse,
}

/** Checks the context of a batch. Throws `config-invalid` for an unknown key or a value out of range. */
function readContext(context: unknown = {}): CallContext {
  checkOptions<CallContext>('the context of a call', context, RULES)
  const { sessionId = '', ...rest } = context as Partial<CallContext>
  checkHooks('the context of a call', rest.hooks)
  return { ...rest, sessionId: String(sessionId) }
}

const HOOK_RULES: OptionRules<CallHooks> = { before_tool_call: anyFunction, after_tool_call: anyFunction }

/** Throws `config-invalid` for hooks with an unknown key, naming the nearest known one. */
export function checkHooks(owner: string, hooks: CallHooks | readonly CallHooks[] | undefined): void {
  for (const hook of hooksOf(hooks)) checkOptions<CallHooks>(`a hook of ${owner}`, hook, HOOK_RULES)
}

/** The hooks as a list: the host may pass one or several. */
export function hooksOf(hooks: CallHooks | readonly CallHooks[] | undefined): readonly CallHooks[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? [...hooks] : [hooks as CallHooks]
}

/** A context for calls of one session, with what it inherits from its parent's; null if it cannot be read. */
export function contextWith(
  given: unknown,
  sessionId: string,
  inherited: {
    readonly hooks: readonly CallHooks[]
    readonly onAsk: AskHandler | undefined
    readonly context: unknown
  },
): Partial<CallContext> | null {
  try {
    if (!isRecord(given)) return null
    const { hooks, ...rest } = given as Partial<CallContext>
    const all = [...inherited.hooks, ...hooksOf(hooks)]
    const onAsk = rest.onAsk ?? inherited.onAsk
    return {
      ...{ ...rest, sessionId, context: rest.context ?? inherited.context },
      ...(all.length > 0 ? { hooks: all } : {}),
      ...(onAsk === undefined ? {} : { onAsk }),
    }
  } catch {
    return null
  }
}

/**
 * The hooks of the context come first and may wait for a person; then the registry's, which have a deadline. Each runs
 * once.
 */
function hookList(
  ofContext: CallHooks | readonly CallHooks[] | undefined,
  ofRegistry: CallHooks | readonly CallHooks[] | undefined,
  timeoutMs: number,
): HookList {
  if (ofContext === undefined && ofRegistry === undefined) return []
  const first = [...new Set(hooksOf(ofContext))]
  const then = hooksOf(ofRegistry).filter((hook) => !first.includes(hook))
  return [
    ...first.map((hook) => ({ hook, timeoutMs: undefined })),
    ...then.map((hook) => ({ hook, timeoutMs })),
  ]
}

/** The session id of any context; empty if it has none. */
export function sessionIdOf(context: unknown): string {
  try {
    const { sessionId } = context as Partial<CallContext>
    return typeof sessionId === 'string' || typeof sessionId === 'number' ? String(sessionId) : ''
  } catch {
    return ''
  }
}
