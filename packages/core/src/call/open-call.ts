import { readArguments } from '../json.ts'
import { withoutHidden } from '../names.ts'
import type { Entry } from '../registry/entry.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type { CheckedArguments } from '../schema/check-arguments.ts'
import { maskArguments } from '../secrets/mask-arguments.ts'
import { clipText } from '../text.ts'
import type { ToolCall, ToolResult } from '../tool.ts'
import { failedWith, failure } from '../tool-result.ts'
import { type Batch, partFailed } from './batch.ts'
import type { CallScope, CallTarget } from './call-scope.ts'
import { missingCapabilities } from './run-tool.ts'

/** A call that was resolved and checked: ready to run with valid arguments, or already answered. */
export interface OpenCall {
  readonly call: ToolCall
  /**
   * The tool's registered name, even if it was called through `call_tool`; if there is no such tool, the name that the
   * model used.
   */
  readonly toolName: string
  readonly startedAt: number
  readonly target: CallTarget | undefined
  /** True once the call passed every gate: it counts as a use of the tool, whatever its arguments. */
  readonly isUse: boolean
  readonly step:
    | { readonly args: unknown }
    | {
        readonly answer: ToolResult /** Whether the answer has the tool's schema. */
        readonly showsSchema?: boolean
      }
}

/** Resolves a call, asks each gate in turn, and validates its arguments. Runs nothing and never throws. */
export function openCall(call: ToolCall, batch: Batch): OpenCall {
  const { state, sessionId, emit } = batch
  const startedAt = state.now()
  let target: CallTarget | undefined
  let opened: Pick<OpenCall, 'isUse' | 'step'>
  try {
    target = batch.scope.resolve(call, batch)
    opened = target ? openTarget(target, call, batch) : unknownTool(call, batch)
  } catch (thrown) {
    opened = { isUse: false, step: { answer: failedWith(thrown) } }
  }
  const toolName = target?.entry.name ?? call.name
  emit({
    type: 'call-started',
    sessionId,
    toolCallId: call.toolCallId,
    name: toolName,
    ...calledAs(call, toolName),
  })
  const { isUse, step } = opened
  return { call, toolName, startedAt, target, isUse, step }
}

/** The name the model used, if it differs from the tool's. */
export function calledAs(call: ToolCall, toolName: string): { calledAs: string } | undefined {
  return call.name === toolName ? undefined : { calledAs: call.name }
}

function openTarget(target: CallTarget, call: ToolCall, batch: Batch): Pick<OpenCall, 'isUse' | 'step'> {
  const { scope, maxIdenticalCalls, isDryRun } = batch
  const refusal = refusalOf(target, batch)
  if (refusal !== undefined) {
    noteCall(target.entry.name, target.args, batch)
    return { isUse: false, step: { answer: refusal } }
  }
  if (batch.lateResult !== undefined) return { isUse: false, step: { args: target.args } }
  const checked = checkCall(target, target.args, call, batch)
  // Repeating a search or reading further is not a loop.
  const times = target.entry.isSelfLimiting
    ? 0
    : noteCall(target.entry.name, checked.ok ? checked.args : readArguments(target.args), batch)
  if (maxIdenticalCalls > 0 && times > maxIdenticalCalls)
    return { isUse: false, step: { answer: repeated(target, times) } }

  // A script runs dry itself: what only reads is called.
  const isDry = isDryRun && target.entry.name !== 'run_script'
  const isUse = !isDry
  if (!checked.ok) {
    const showsSchema = scope.needsSchema(target)
    return { isUse, step: { answer: invalidArguments(target, checked.error, showsSchema), showsSchema } }
  }
  const guessed = unnamedArguments(target, checked.args, call, batch)
  if (guessed.length > 0 && scope.isUnseen(target)) {
    const answer = invalidArguments(target, describeGuessed(guessed, batch), true)
    return { isUse, step: { answer, showsSchema: true } }
  }
  if (isDry)
    return { isUse, step: { answer: dryRunResult(target.entry.name, checked.args, scope.asks(target)) } }
  return { isUse, step: { args: checked.args } }
}

/** Asks policy, availability and capabilities, in that order; undefined when the call may run. */
function refusalOf(target: CallTarget, { scope, settings }: Batch): ToolResult | undefined {
  const { name, tool } = target.entry
  const gate = scope.denial(target)
  if (gate !== undefined) return notAvailable(`"${name}" is not permitted here: ${gate}`)
  if (!settings.availability.isAvailable(tool)) return notAvailable(`"${name}" is not currently available`)
  const missing = missingCapabilities(tool.capabilities, settings.backends)
  if (missing.length === 0) return undefined
  return notAvailable(`"${name}" needs ${missing.join(', ')}, which this host does not grant`)
}

function unknownTool(call: ToolCall, batch: Batch): Pick<OpenCall, 'isUse' | 'step'> {
  noteCall(call.name, call.args, batch)
  batch.emit({ type: 'missed', sessionId: batch.sessionId, what: 'name', text: call.name })
  return { isUse: false, step: { answer: notAvailable(describeUnknown(call.name, batch.scope)) } }
}

/** The maximum length of a registered name. */
const MAX_SHOWN_NAME = 256

function describeUnknown(name: string, scope: CallScope): string {
  const nextStep = scope.searchToolName ? ` Find tools with ${scope.searchToolName}.` : ''
  if (scope.isGone(name)) return `"${name}" is no longer available: it was removed.${nextStep}`
  const close = scope.suggest(name)
  const suggestion = close.length > 0 ? ` Close names: ${close.join(', ')}.` : ''
  const missing = describeMissing(scope.missingServers(name))
  return `Unknown tool: ${clipText(name, MAX_SHOWN_NAME) || '(no name)'}.${missing}${suggestion}${nextStep}`
}

const MAX_MISSING = 5
const MAX_REASON = 200

/** Which servers are missing, why, and what to do: without them, a correct name looks wrong. */
function describeMissing(servers: readonly ServerStatus[]): string {
  const failed = servers.flatMap((status) =>
    status.state === 'failed'
      ? [`"${status.server}" (${clipText(withoutHidden(status.reason), MAX_REASON)})`]
      : [],
  )
  const connecting = servers.flatMap((status) =>
    status.state === 'connecting'
      ? [`"${status.server}"${status.detail === undefined ? '' : ` (${status.detail})`}`]
      : [],
  )
  const [a, theirs] = failed.length === 1 ? ['A server', 'its'] : ['Servers', 'their']
  const what = `${a} failed, so ${theirs} tools are missing`
  const faults = failed.length === 0 ? '' : ` ${what}: ${listed(failed)}. Tell the user what has to be fixed.`
  return connecting.length === 0
    ? faults
    : `${faults} Still connecting: ${listed(connecting)}; call again in a moment.`
}

function listed(servers: readonly string[]): string {
  const more = servers.length > MAX_MISSING ? `, and ${servers.length - MAX_MISSING} more` : ''
  return servers.slice(0, MAX_MISSING).join(', ') + more
}

function notAvailable(error: string): ToolResult {
  return failure('not_available', error)
}

// A dry run counts nothing. A call whose arguments cannot be compared counts as different.
function noteCall(name: string, args: unknown, { isDryRun, state, sessionId }: Batch): number {
  if (isDryRun) return 0
  try {
    return state.identicalCalls.note(sessionId, name, args)
  } catch {
    return 0
  }
}

/** Validates arguments against the schema the tool was registered with. */
export function checkCall(
  { entry }: CallTarget,
  args: unknown,
  call: ToolCall,
  batch: Batch,
): CheckedArguments {
  const onFaults = schemaFaults(entry, call, batch)
  return batch.schemas.check(entry.definition.parameters, args, { onFaults, mask: batch.mask })
}

/** The arguments that the tool's schema does not name. */
function unnamedArguments(
  { entry }: CallTarget,
  args: unknown,
  call: ToolCall,
  batch: Batch,
): readonly string[] {
  return batch.schemas.compile(entry.definition.parameters, schemaFaults(entry, call, batch)).unnamed(args)
}

function schemaFaults({ name }: Entry, { toolCallId }: ToolCall, batch: Batch) {
  return (faults: readonly string[]) =>
    partFailed('schema', faults.join('; '), { toolCallId, toolName: name }, batch)
}

const MAX_GUESSED = 5

/** Such a tool may take more than it names, but the model cannot know that yet. */
function describeGuessed(names: readonly string[], { mask = (text) => text }: Batch): string {
  const shown = names.slice(0, MAX_GUESSED).map((name) => `"${clipText(mask(name), 60)}"`)
  const more = names.length > MAX_GUESSED ? `, and ${names.length - MAX_GUESSED} more` : ''
  return `the schema does not name ${shown.join(', ')}${more}; nothing was run. Read it first, then call again.`
}

export function invalidArguments({ entry }: CallTarget, faults: string, withSchema: boolean): ToolResult {
  const { name, definition } = entry
  const error = `Invalid arguments for ${name}: ${faults}`
  if (!withSchema) return failure('input_invalid', error)
  const { parameters } = definition
  const text = `${error}\nIts parameters: ${JSON.stringify(parameters)}`
  return { ok: false, code: 'input_invalid', error: text, structured: { name, parameters } }
}

function repeated({ entry }: CallTarget, times: number): ToolResult {
  return failure(
    'repeated',
    `"${entry.name}" was called ${times} times in a row with the same arguments. Use its result, change the arguments, or try something else.`,
  )
}

/** The result of a dry run, which says what the call would do. Secrets in its arguments are masked. */
function dryRunResult(toolName: string, args: unknown, asks: boolean): ToolResult {
  const shown = maskArguments(args)
  return {
    ok: true,
    value: `[dry run] ${toolName} would ${asks ? 'ask a person, then ' : ''}run with ${JSON.stringify(shown)}`,
    structured: { dryRun: true, name: toolName, args: shown, ...(asks ? { asks } : {}) },
  }
}
