import { copyJson } from '../copy-json.ts'
import { describeError } from '../errors.ts'
import { canonicalJson } from '../json.ts'
import { type CheckedArguments, checkArguments, readArguments } from '../schema/check-arguments.ts'
import { maskResult } from '../secrets/mask.ts'
import type { Tool, ToolCall, ToolResult } from '../tool.ts'
import { failedWith, failure } from './answers.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-environment.ts'
import { dryRunResult } from './dry-run.ts'
import { runAfterHooks, runBeforeHooks } from './hooks.ts'
import { permitCall } from './permit-call.ts'
import { reduceResult } from './reduce-result.ts'
import { runTool } from './run-tool.ts'
import { isTracing, traceCall } from './trace.ts'

/** A call with its answer, before the batch's budget is shared. */
export interface AnsweredCall {
  readonly toolCallId: string
  readonly name: string
  readonly result: ToolResult
  readonly durationMs: number
  /** What the call resolved to, if there was something. */
  readonly target: CallTarget | undefined
  /** The text before it was reduced, when the tool's own reducer made it shorter. */
  readonly unreduced: string | undefined
}

/** Runs one call from its name to its reduced result. Never throws. */
export async function runCall(call: ToolCall, batch: Batch): Promise<AnsweredCall> {
  const { toolCallId, name } = call
  const { state, sessionId, emit } = batch
  const startedAt = state.now()
  const progress: Progress = { target: undefined, isCached: false, unreduced: undefined }
  emit({ type: 'call-started', sessionId, toolCallId, name })
  const result = isTracing()
    ? await traceCall(
        { name, toolCallId, sessionId },
        () => answerMasked(call, batch, progress),
        () => progress.target?.tool.name,
      )
    : await answerMasked(call, batch, progress)
  const durationMs = state.now() - startedAt
  emit({
    type: 'call-finished',
    sessionId,
    toolCallId,
    name,
    ok: result.ok,
    durationMs,
    chars: (result.ok ? result.value : result.error).length,
    ...(result.ok ? undefined : { code: result.code }),
    ...(progress.isCached ? { isCached: true } : undefined),
  })
  return { toolCallId, name, result, durationMs, target: progress.target, unreduced: progress.unreduced }
}

/** What is known of a call on its way, also when it fails half-way. */
interface Progress {
  target: CallTarget | undefined
  isCached: boolean
  unreduced: string | undefined
}

// Whatever an answer came from (a tool, a hook, a reducer, an error about the arguments), it is masked last of all.
async function answerMasked(call: ToolCall, batch: Batch, progress: Progress): Promise<ToolResult> {
  try {
    return masked(batch, await answer(call, batch, progress))
  } catch (thrown) {
    return maskedFailure(batch, thrown)
  }
}

function maskedFailure(batch: Batch, thrown: unknown): ToolResult {
  try {
    return masked(batch, failedWith(thrown))
  } catch {
    return failure('execution_failed', 'the result cannot be shown: masking secrets failed')
  }
}

function answer(call: ToolCall, batch: Batch, progress: Progress): ToolResult | Promise<ToolResult> {
  const { environment, settings, isDryRun } = batch
  const permission = permitCall(call, environment)
  progress.target = permission.target
  if ('refusal' in permission) {
    noteCall(call.name, call.args, batch)
    return permission.refusal
  }
  const { target } = permission
  const checked = check(target, target.args, call, batch)
  const times = noteCall(target.tool.name, checked.ok ? checked.args : readArguments(target.args), batch)
  if (isTooOften(times, settings.maxIdenticalCalls)) return repeated(target.tool, times)

  // Asked first: using the tool may check it out, and then its schema counts as seen.
  const needsSchema = environment.needsSchema?.(target) === true
  if (!isDryRun) environment.onUse?.(target)
  if (!checked.ok) return invalid(target, checked.error, needsSchema)
  if (isDryRun) return dryRunResult(target.tool.name, checked.args)
  return runPermitted({ call, target, batch, progress }, checked.args)
}

// A dry run asks nothing of anybody. What cannot be compared is a call of its own.
function noteCall(name: string, args: unknown, { isDryRun, state, sessionId }: Batch): number {
  if (isDryRun) return 0
  try {
    return state.identicalCalls.note(sessionId, name, args)
  } catch {
    return 0
  }
}

/** A call that may run. */
interface PermittedCall {
  readonly call: ToolCall
  readonly target: CallTarget
  readonly batch: Batch
  readonly progress: Progress
}

function runPermitted(permitted: PermittedCall, args: unknown): ToolResult | Promise<ToolResult> {
  const { batch, target } = permitted
  if (batch.hooks.length > 0) return runHooked(permitted, args)
  const isReduced = batch.settings.reducers !== undefined || target.tool.reduce !== undefined
  return isReduced ? runReduced(permitted, args) : runOrRecall(permitted, args)
}

async function runReduced(permitted: PermittedCall, args: unknown): Promise<ToolResult> {
  return reduce(permitted, args, await runOrRecall(permitted, args))
}

async function runHooked(permitted: PermittedCall, validArgs: unknown): Promise<ToolResult> {
  const { call, target, batch } = permitted
  const { hooks, sessionId, turnCount, abort, timeoutMs, state } = batch
  const limits = { abort, timeoutMs, schedule: state.schedule }
  const { toolCallId } = call
  const hooked = { toolCallId, name: target.tool.name, source: target.source, sessionId, turnCount }

  const before = await runBeforeHooks(hooks, { ...hooked, args: validArgs }, limits)
  if ('refusal' in before) return before.refusal
  const checked = before.isChanged
    ? check(target, before.args, call, batch)
    : { ok: true as const, args: validArgs }
  if (!checked.ok) return invalid(target, `${checked.error} (after a hook changed them)`, false)
  const { args } = checked

  const ran = masked(batch, before.answer ?? (await runOrRecall(permitted, args)))
  const seen = await runAfterHooks(hooks, { ...hooked, args }, ran, limits, (error) =>
    partFailed('hook', error, call, batch),
  )
  return reduce(permitted, args, seen)
}

function masked({ mask }: Batch, result: ToolResult): ToolResult {
  return mask ? maskResult(result, mask) : result
}

function reduce(permitted: PermittedCall, args: unknown, result: ToolResult): ToolResult {
  const { call, target, batch, progress } = permitted
  const { reducers } = batch.settings
  if (reducers === undefined && target.tool.reduce === undefined) return result
  // Before reducing too: a reducer cuts, and half a secret is not recognised.
  const whole = masked(batch, result)
  const reduced = reduceResult(target.tool, whole, { args, turnCount: batch.turnCount }, reducers, (error) =>
    partFailed('reducer', error, call, batch),
  )
  const isShorter = textOf(reduced).length < textOf(whole).length
  // What the host's own reducer leaves is what the host wants shown, to the letter.
  if (isShorter && reducers?.get(target.tool.name) === undefined) progress.unreduced = textOf(whole)
  return reduced
}

function textOf(result: ToolResult): string {
  return result.ok ? result.value : result.error
}

/** Executes the tool, or answers from the cache what a read-only tool said a short while ago. */
function runOrRecall(permitted: PermittedCall, args: unknown): ToolResult | Promise<ToolResult> {
  const { target, batch } = permitted
  const ttlMs = cacheTtlMs(target.tool, batch)
  return ttlMs > 0 ? recallOrRun(permitted, args, ttlMs) : run(permitted, args)
}

function run({ call, target, batch }: PermittedCall, args: unknown): ToolResult | Promise<ToolResult> {
  // Its own copy: hooks and reducers are told what was asked, whatever the tool makes of its input.
  const isWatched =
    batch.hooks.length > 0 || batch.settings.reducers !== undefined || target.tool.reduce !== undefined
  return runTool(target, isWatched ? copyJson(args) : args, call.toolCallId, batch)
}

async function recallOrRun(permitted: PermittedCall, args: unknown, ttlMs: number): Promise<ToolResult> {
  const { call, target, batch, progress } = permitted
  const { tool } = target
  const { results, now } = batch.state
  const key = results.key(target.registration ?? tool, batch.sessionId, canonicalJson(args))
  const recalled = results.get(key, now())
  if (recalled) {
    progress.isCached = true
    return recalled
  }
  const result = await run(permitted, args)
  try {
    results.set(key, result, now() + ttlMs)
  } catch (thrown) {
    partFailed('cache', describeError(thrown), call, batch)
  }
  return result
}

// What was said about the files of one turn says nothing about those of another.
function cacheTtlMs({ annotations, cacheTtlMs = 0, capabilities }: Tool, { attachments }: Batch): number {
  const readsAttachments = capabilities?.attachments !== undefined && attachments.length > 0
  return annotations?.readOnlyHint === true && !readsAttachments ? cacheTtlMs : 0
}

function check(target: CallTarget, args: unknown, call: ToolCall, batch: Batch): CheckedArguments {
  const { tool, registration } = target
  const schema = batch.state.schemas.compile(
    registration?.definition.parameters ?? tool.inputSchema,
    (faults) => partFailed('schema', faults.join('; '), call, batch),
  )
  return checkArguments(schema, args, batch.mask)
}

function invalid({ tool, registration }: CallTarget, faults: string, withSchema: boolean): ToolResult {
  const error = `Invalid arguments for ${tool.name}: ${faults}`
  if (!withSchema) return failure('input_invalid', error)
  const parameters = registration?.definition.parameters ?? tool.inputSchema
  const text = `${error}\nIts parameters: ${JSON.stringify(parameters)}`
  return { ok: false, code: 'input_invalid', error: text, structured: { name: tool.name, parameters } }
}

function isTooOften(times: number, maxIdenticalCalls: number): boolean {
  return maxIdenticalCalls > 0 && times > maxIdenticalCalls
}

function repeated(tool: Tool, times: number): ToolResult {
  return failure(
    'repeated',
    `"${tool.name}" was called ${times} times in a row with the same arguments. Use what it answered, change the arguments, or go another way.`,
  )
}

function partFailed(
  part: 'hook' | 'reducer' | 'schema' | 'cache',
  error: string,
  { toolCallId, name }: ToolCall,
  { emit, sessionId }: Batch,
): void {
  emit({ type: 'call-part-failed', sessionId, toolCallId, name, part, error })
}
