import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { ReducerLookup } from '../reduce/reducer.ts'
import { copyResult } from '../secrets/mask-results.ts'
import type { ReduceContext, Tool, ToolResult } from '../tool.ts'
import { readReturned, textOf } from '../tool-result.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { runAfterHooks, runBeforeHooks } from './hooks.ts'
import { checkCall, type OpenCall } from './open-call.ts'

/** One running call. */
interface RunningCall {
  readonly opened: OpenCall
  readonly batch: Batch
  /** The text before it was reduced. */
  unreduced: string | undefined
  isReduced(target: CallTarget): boolean
  masked(result: ToolResult): ToolResult
  runOrRecall(target: CallTarget, args: unknown): ToolResult | Promise<ToolResult>
  partFailed(part: 'hook' | 'reducer', error: string): void
}

/** Runs a call with hooks or a reducer. */
export async function runWatched(
  running: RunningCall,
  target: CallTarget,
  args: unknown,
): Promise<ToolResult> {
  if (running.batch.hooks.length > 0) return runHooked(running, target, args)
  return reduce(running, target, args, await running.runOrRecall(target, args))
}

async function runHooked(running: RunningCall, target: CallTarget, validArgs: unknown): Promise<ToolResult> {
  const { call, toolName } = running.opened
  const { hooks, sessionId, turnCount, abort, state } = running.batch
  const limits = { abort, schedule: state.schedule }
  const { toolCallId } = call
  const { source, tool } = target.entry
  const hooked = {
    ...{ toolCallId, name: toolName, source, sessionId, turnCount, context: running.batch.context },
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(tool.annotations === undefined ? {} : { annotations: { ...tool.annotations } }),
  }

  // A call that was started earlier has already passed these hooks.
  const before = running.batch.lateResult
    ? { args: validArgs, isChanged: false }
    : await runBeforeHooks(hooks, { ...hooked, args: validArgs }, limits)
  if ('refusal' in before) return before.refusal
  const checked = before.isChanged
    ? checkCall(target, before.args, call, running.batch)
    : { ok: true as const, args: validArgs }
  if (!checked.ok) {
    const { invalidArguments } = await import('./explain-call.ts')
    const how = { showsSchema: false, batch: running.batch, note: ' (after a hook changed them)' }
    return invalidArguments(target, checked.error, how)
  }
  const { args } = checked
  // The person was asked about other arguments.
  if (before.isChanged && running.batch.scope.asks(target)) {
    const { askAbout } = await import('./ask-about.ts')
    const [answer] = await askAbout([{ toolCallId, target, args }], running.batch)
    if (answer !== undefined) return answer
  }

  const ran = running.masked(before.answer ?? (await running.runOrRecall(target, args)))
  const seen = await runAfterHooks(hooks, { ...hooked, args }, ran, limits, (error) =>
    running.partFailed('hook', error),
  )
  return reduce(running, target, args, seen)
}

function reduce(running: RunningCall, target: CallTarget, args: unknown, result: ToolResult): ToolResult {
  if (!running.isReduced(target)) return result
  const { tool } = target.entry
  const { reducers } = running.batch.settings
  // Masked before reducing too: a reducer cuts, and half a secret is not recognised.
  const whole = running.masked(result)
  const context = { args, turnCount: running.batch.turnCount, inputSchema: tool.inputSchema }
  const reduced = reduceResult(tool, whole, context, reducers, (error) =>
    running.partFailed('reducer', error),
  )
  const isShorter = textOf(reduced).length < textOf(whole).length
  // The host's own reducer decides exactly what is shown.
  if (isShorter && reducers?.get(tool.name) === undefined) running.unreduced = textOf(whole)
  return reduced
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
