import { readArguments } from '../json.ts'
import type { Entry } from '../registry/entry.ts'
import type { CheckedArguments } from '../schema/check-arguments.ts'
import type { FoundFaults } from '../schema/describe-faults.ts'
import { clipText } from '../text.ts'
import type { ToolCall, ToolResult } from '../tool.ts'
import { failedWith, failure } from '../tool-result.ts'
import { type Batch, partFailed } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { missingCapabilities } from './run-tool.ts'

/** What `explainCall()` makes an answer of: invalid arguments, an unknown tool, or the valid arguments of a dry run. */
export type Unexplained =
  | { readonly faults: string | FoundFaults; readonly showsSchema: boolean }
  | { readonly unknown: true }
  | { readonly dryRun: unknown }

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
    | Unexplained
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
    return { isUse, step: { faults: checked.error, showsSchema } }
  }
  const guessed = unnamedArguments(target, checked.args, call, batch)
  if (guessed.length > 0 && scope.isUnseen(target)) {
    return { isUse, step: { faults: describeGuessed(guessed, batch), showsSchema: true } }
  }
  return { isUse, step: isDry ? { dryRun: checked.args } : { args: checked.args } }
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
  return { isUse: false, step: { unknown: true } }
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
  return batch.schemas.check(entry.definition.parameters, args, onFaults)
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

function repeated({ entry }: CallTarget, times: number): ToolResult {
  return failure(
    'repeated',
    `"${entry.name}" was called ${times} times in a row with the same arguments. Use its result, change the arguments, or try something else.`,
  )
}
