import type { ToolResult } from '@toolcrib/core'
import type { Calls, RunRecord, Told } from './journal.ts'
import type { ScriptLimits } from './limits.ts'
import type { Over } from './sandbox.ts'

const NO_CODE =
  'run_script needs "code": a program that calls tools and returns a value, such as: const issues = await tools.github.list_issues({ state: "open" }); return issues.length. Nothing was run.'
export const WAITS_FOR_NOTHING =
  '{"name":"Error","message":"the script waits for a promise that nothing settles"}'
export const DENIED = { ok: false, code: 'denied', error: 'a person refused this call' } as const
export const GONE = 'there is no such paused script in this session'
export const BUSY =
  'this script runs in another process; nothing was run. Send the very same code later for its answer'
export const UNREADABLE =
  'the paused script cannot be read here: it was stored with another key or version, or changed. Run it again.'

/** How a script ended. */
export type Ending =
  | { readonly kind: 'returned'; readonly json: string }
  | { readonly kind: 'threw'; readonly error: string }
  | { readonly kind: 'limit'; readonly reason: string }

/** What the model reads when a script has ended: what it returned and printed, and a line about its calls. */
export function answerOf(
  {
    ending,
    told,
    printedChars,
    notRun,
  }: {
    readonly ending: Ending
    readonly told: Told
    readonly printedChars: number
    readonly notRun: readonly string[]
  },
  limits: ScriptLimits,
): ToolResult {
  const { printed, made, failed, dry, costUsd } = told
  const parts = [
    headOf(ending),
    ...(printed.length > 0 ? [`printed:\n${printed.join('\n')}`] : []),
    ...(printedChars > limits.printChars ? [`… [${printedChars} characters printed]`] : []),
    `[calls: ${counted(made) || 'none'}]`,
    ...(Object.keys(failed).length > 0 ? [`[failed: ${counted(failed, '; ')}]`] : []),
    ...(dry ? [`[dry run, so these did not run:\n${dry.join('\n')}]`] : []),
    ...(notRun.length > 0 ? [`[not run, since the script did not wait for it: ${notRun.join(', ')}]`] : []),
  ]
  const structured = { calls: made, ...(dry ? { dry } : {}) }
  const text = parts.join('\n')
  if (ending.kind === 'returned')
    return { ok: true, value: text, structured, ...(costUsd > 0 ? { costUsd } : {}) }
  const code = ending.kind === 'limit' ? 'limit_reached' : 'script_failed'
  return { ok: false, code, error: text, structured }
}

/** The answer of the run that a call repeats: whoever sent it again may not have got it. */
export function again(result: ToolResult, what: string): ToolResult {
  const note = `\n[this very script ${what}: this is its answer, and nothing was run again; to run it again, change it, with a comment for example]`
  return result.ok ? { ...result, value: result.value + note } : { ...result, error: result.error + note }
}

/** What the model reads while a script waits for a person. `reasons` say why nobody has answered. */
export function pausedAnswer(
  run: string,
  waiting: readonly string[],
  told: Told,
  reasons: readonly string[] = [],
): ToolResult {
  const error = [
    `The script is paused: ${waiting.join(', ')} ${waiting.length === 1 ? 'waits' : 'wait'} for a person's approval. Tell the user, and do not run it again before that; then run_script with the very same code continues it, and repeats nothing. [calls: ${counted(told.made) || 'none'}]`,
    ...new Set(reasons),
  ].join('\n')
  return { ok: false, code: 'paused', error, structured: { run, waiting, calls: told.made } }
}

/** What is known after the process of a script died while a call ran. */
export function unclearText({ calls, told, image }: RunRecord): string {
  if (image === '')
    return 'The process ended while the script ran. What it had done is not recorded: check before you repeat any of it. To run it again, change it, with a comment for example.'
  const named = (...states: readonly string[]) =>
    Object.values(calls)
      .filter(({ state }) => states.includes(state))
      .map(({ name, args }) => `${name} ${JSON.stringify(args)}`)
      .join('; ') || 'none'
  return `The process ended while a call of the script ran, so the script was stopped; it does not run again by itself. May or may not have happened, so check before you repeat it: ${named('started')}. Done: ${named('done')}. Not run: ${named('granted', 'held', 'denied', 'open')}. [calls: ${counted(told.made) || 'none'}]`
}

/** What is known of a script that could not be stored, or whose last result could not. */
export function brokenAnswer(
  problem: string,
  told: Told,
  { isUnclear, isStored }: { readonly isUnclear: boolean; readonly isStored: boolean },
): ToolResult {
  const calls = `[calls: ${counted(told.made) || 'none'}]`
  if (isUnclear) {
    const error = `The script could not go on: ${problem}. A call may have run whose result is not recorded, so check before you repeat it. ${calls}`
    return { ok: false, code: 'unclear', error }
  }
  const next = isStored
    ? 'run_script with the very same code continues it later, and repeats no write'
    : 'it cannot be continued; what it called has run'
  return {
    ok: false,
    code: 'script_failed',
    error: `The script could not go on: ${problem}; ${next}. ${calls}`,
  }
}

/** What an expired script had done. */
export function expiredText({ calls, told }: RunRecord): string {
  const waiting = namesOf(calls)
  return `The script waited too long for a person and has expired. Not run: ${waiting.join(', ') || 'none'}. [calls: ${counted(told.made) || 'none'}]`
}

/** The tools whose calls have not run. */
export function namesOf(calls: Calls): readonly string[] {
  return Object.values(calls).flatMap(({ name, state }) => (state === 'done' ? [] : [name]))
}

/** Why a script was stopped. */
export function endingOf(over: Over, limits: ScriptLimits): Ending {
  if (!('limit' in over)) return { kind: 'threw', error: JSON.stringify(over) }
  if (over.limit === 'cpu')
    return {
      kind: 'limit',
      reason: `the script computed for more than ${limits.cpuMs} ms; do less in one script`,
    }
  return { kind: 'limit', reason: `the script needed more than ${limits.memoryMb} MB, or broke the sandbox` }
}

/** How a script says that it ended. */
export function saidEnding(what: string, text: string): Ending {
  return what === 'return' ? { kind: 'returned', json: text } : { kind: 'threw', error: text }
}

export function plusOne(
  counts: Readonly<Record<string, number>>,
  key: string,
): Readonly<Record<string, number>> {
  return { ...counts, [key]: (counts[key] ?? 0) + 1 }
}

function headOf(ending: Ending): string {
  if (ending.kind === 'limit') return `Stopped: ${ending.reason}`
  if (ending.kind === 'returned')
    return ending.json || 'undefined (end the script with "return …" to get a value)'
  const { name, message, code, line } = JSON.parse(ending.error) as Record<string, string | undefined>
  return `${name}${code === undefined ? '' : ` (${code})`}: ${message}${line === undefined ? '' : ` at line ${line}`}`
}

function counted(counts: Readonly<Record<string, number>>, separator = ', '): string {
  return Object.entries(counts)
    .map(([name, count]) => (count === 1 ? name : `${name} ×${count}`))
    .join(separator)
}

export function failed(code: string, error: string): ToolResult {
  return { ok: false, code, error }
}

/** The answer of a run that is over. */
export function resultOf({ state, answer = GONE, code, told }: RunRecord): ToolResult {
  const structured = { calls: told.made }
  if (state === 'done') return { ok: true, value: answer, structured }
  return { ...failed(code ?? (state === 'unclear' ? 'unclear' : 'script_failed'), answer), structured }
}

/** Why a script cannot run. */
export function faultOf(code: string, { sourceChars }: ScriptLimits): string | undefined {
  if (code.trim() === '') return NO_CODE
  if (code.length <= sourceChars) return undefined
  return `the script has ${code.length} characters; ${sourceChars} is the limit. Nothing was run.`
}

const MAX_DRY = 50

/** Notes a call that a dry run did not make. */
export function withDry(told: Told, call: string): Told {
  const { dry = [] } = told
  return dry.length < MAX_DRY ? { ...told, dry: [...dry, call] } : told
}
