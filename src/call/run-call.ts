import { describeError } from '../errors.ts'
import { canonicalJson } from '../json.ts'
import type { Tool, ToolCall, ToolResult } from '../tool.ts'
import { failedWith, failure } from './answers.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-environment.ts'
import { type CheckedArguments, checkArguments } from './check-arguments.ts'
import { copyJson } from './copy-json.ts'
import { dryRunResult } from './dry-run.ts'
import { runAfterHooks, runBeforeHooks } from './hooks.ts'
import { type Mask, maskFor, maskResult } from './mask.ts'
import { permitCall } from './permit-call.ts'
import { reduceResult } from './reduce-result.ts'
import { runTool } from './run-tool.ts'
import { traceCall } from './trace.ts'

/** A call with its answer, before the batch's budget is shared. */
export interface AnsweredCall {
  readonly toolCallId: string
  readonly name: string
  readonly result: ToolResult
  readonly durationMs: number
  /** The tool the call resolved to, if there was one. */
  readonly tool: Tool | undefined
}

/** Runs one call from its name to its reduced result. Never throws. */
export async function runCall(call: ToolCall, batch: Batch): Promise<AnsweredCall> {
  const { toolCallId, name } = call
  const { state, sessionId, emit } = batch
  const startedAt = state.now()
  const progress: Progress = { tool: undefined, isCached: false }
  emit({ type: 'call-started', sessionId, toolCallId, name })
  const result = await traceCall(
    { name, toolCallId, sessionId },
    () => answer(call, batch, progress).catch(failedWith),
    () => progress.tool?.name,
  )
  const durationMs = state.now() - startedAt
  emit({
    type: 'call-finished',
    sessionId,
    toolCallId,
    name,
    ok: result.ok,
    durationMs,
    chars: (result.ok ? result.value : result.error).length,
    ...(result.ok ? {} : { code: result.code }),
    ...(progress.isCached ? { isCached: true } : {}),
  })
  return { toolCallId, name, result, durationMs, tool: progress.tool }
}

/** What is known of a call on its way, also when it fails half-way. */
interface Progress {
  tool: Tool | undefined
  isCached: boolean
}

async function answer(call: ToolCall, batch: Batch, progress: Progress): Promise<ToolResult> {
  const { environment, sessionId } = batch
  const times = batch.isDryRun ? 0 : batch.state.identicalCalls.note(sessionId, call.name, call.args)

  const permission = permitCall(call, environment)
  progress.tool = permission.target?.tool
  if ('refusal' in permission) return permission.refusal
  const { target } = permission
  if (isTooOften(times, environment.maxIdenticalCalls)) return repeated(target.tool, times)

  // Asked first: using the tool may check it out, and then its schema counts as seen.
  const needsSchema = environment.needsSchema?.(target) === true
  if (!batch.isDryRun) environment.onUse?.(target)
  const checked = check(target, target.args, call, batch)
  if (!checked.ok) return invalid(target, checked.error, needsSchema)

  const mask = maskFor(environment.backends)
  if (batch.isDryRun) return dryRunResult(target.tool.name, checked.args, mask)
  return runPermitted({ call, target, mask, batch, progress }, checked.args)
}

/** A call that may run. */
interface PermittedCall {
  readonly call: ToolCall
  readonly target: CallTarget
  readonly mask: Mask | undefined
  readonly batch: Batch
  readonly progress: Progress
}

async function runPermitted(permitted: PermittedCall, args: unknown): Promise<ToolResult> {
  if (permitted.batch.hooks.length > 0) return runHooked(permitted, args)
  return reduce(permitted, args, masked(permitted, await runOrRecall(permitted, args)))
}

async function runHooked(permitted: PermittedCall, validArgs: unknown): Promise<ToolResult> {
  const { call, target, batch } = permitted
  const { hooks, sessionId, turnCount, abort, timeoutMs, state } = batch
  const limits = { abort, timeoutMs, schedule: state.schedule }
  const { toolCallId } = call
  const hooked = { toolCallId, name: target.tool.name, source: target.source, sessionId, turnCount }

  const before = await runBeforeHooks(hooks, { ...hooked, args: validArgs }, limits)
  if ('refusal' in before) return masked(permitted, before.refusal)
  const checked = before.isChanged
    ? check(target, before.args, call, batch)
    : { ok: true as const, args: validArgs }
  if (!checked.ok) return invalid(target, `${checked.error} (after a hook changed them)`, false)
  const { args } = checked

  const ran = masked(permitted, before.answer ?? (await runOrRecall(permitted, args)))
  const seen = await runAfterHooks(hooks, { ...hooked, args }, ran, limits, (error) =>
    partFailed('hook', error, call, batch),
  )
  return reduce(permitted, args, seen === ran ? ran : masked(permitted, seen))
}

function masked({ mask }: PermittedCall, result: ToolResult): ToolResult {
  return mask ? maskResult(result, mask) : result
}

function reduce({ call, target, batch }: PermittedCall, args: unknown, result: ToolResult): ToolResult {
  const { environment, turnCount } = batch
  return reduceResult(target.tool, result, { args, turnCount }, environment.reducers, (error) =>
    partFailed('reducer', error, call, batch),
  )
}

/** Executes the tool, or answers from the cache what a read-only tool said a short while ago. */
async function runOrRecall(permitted: PermittedCall, args: unknown): Promise<ToolResult> {
  const { call, target, batch, progress } = permitted
  const { tool } = target
  const { results, now } = batch.state
  // Its own copy: hooks and reducers are told what was asked, whatever the tool makes of its input.
  const isWatched =
    batch.hooks.length > 0 || batch.environment.reducers !== undefined || tool.reduce !== undefined
  const run = () => runTool(target, isWatched ? copyJson(args) : args, call.toolCallId, batch)
  const ttlMs = tool.annotations?.readOnlyHint === true ? (tool.cacheTtlMs ?? 0) : 0
  if (!(ttlMs > 0)) return run()
  const key = results.key(target.registration ?? tool, batch.sessionId, canonicalJson(args))
  const recalled = results.get(key, now())
  if (recalled) {
    progress.isCached = true
    return recalled
  }
  const result = await run()
  try {
    results.set(key, result, now() + ttlMs)
  } catch (thrown) {
    partFailed('cache', describeError(thrown), call, batch)
  }
  return result
}

function check(target: CallTarget, args: unknown, call: ToolCall, batch: Batch): CheckedArguments {
  const { tool, registration, source } = target
  const schema = batch.state.schemas.compile(registration?.definition.parameters ?? tool.inputSchema, {
    isTrusted: source.kind === 'builtin',
    onFaults: (faults) => partFailed('schema', faults.join('; '), call, batch),
  })
  return checkArguments(schema, args)
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
