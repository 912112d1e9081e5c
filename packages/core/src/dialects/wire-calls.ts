import { hashText, isRecord } from '../json.ts'
import { toWireName } from '../names.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import { forModel } from './search-answer.ts'
import type { WireTools } from './wire-tools.ts'

/** A call as the provider sent it. */
export interface WireCall {
  /** Unique within its reply. */
  readonly id: string
  readonly wireName: string
  /** An object, or JSON that should be one. */
  readonly args: unknown
  /** Why the call must not run, whatever its arguments. */
  readonly fault?: string | undefined
}

export interface ReadCalls {
  readonly calls: readonly ToolCall[]
  readonly unrunnable: readonly CallResult[]
}

/** Separates calls that can run, under their registered names, from those that cannot, with their error results. */
export function readCalls(wireCalls: readonly WireCall[], tools: WireTools): ReadCalls {
  const calls: ToolCall[] = []
  const unrunnable: CallResult[] = []
  for (const { id, wireName, args, fault } of wireCalls) {
    const name = tools.fromWireName(wireName)
    const read = readArguments(args)
    if (fault !== undefined) unrunnable.push(refuse(id, name, fault))
    else if (wireName === '')
      unrunnable.push(refuse(id, 'unnamed_tool', 'the call has no tool name; call a tool by name'))
    else if (read === undefined) unrunnable.push(refuse(id, name, describeMalformed(args)))
    else calls.push({ toolCallId: id, name, args: tools.fromWireArguments(name, read) })
  }
  return { calls, unrunnable }
}

/** One result per call, in the order of the calls, whether or not it ran. */
export function answersTo(
  wireCalls: readonly WireCall[],
  results: readonly CallResult[],
  tools: WireTools,
): readonly CallResult[] {
  const { unrunnable } = readCalls(wireCalls, tools)
  const known = new Map([...unrunnable, ...results].map((result) => [result.toolCallId, result]))
  return wireCalls.map(({ id, wireName }) => {
    const answer = known.get(id) ?? notRun(id, tools.fromWireName(wireName))
    const shown = tools.isSearch(answer.name) ? { ...answer, result: forModel(answer.result, tools) } : answer
    return withNote(shown)
  })
}

/** Puts the warning about servers without `trust` before a result, where the session asks for it. */
function withNote(answer: CallResult): CallResult {
  const { result, untrusted: { note } = {} } = answer
  if (note === undefined) return answer
  const noted = result.ok
    ? { ...result, value: `${note}\n\n${result.value}` }
    : { ...result, error: `${result.error}\n\n${note}` }
  return { ...answer, result: noted }
}

/** Arguments as an object; undefined if they are not one. Missing, empty and `null` arguments count as `{}`. */
export function readArguments(args: unknown): Record<string, unknown> | undefined {
  if (args === undefined || args === null) return {}
  if (typeof args !== 'string') return isRecord(args) ? args : undefined
  if (args.trim() === '') return {}
  try {
    const read: unknown = JSON.parse(args)
    return read === null ? {} : isRecord(read) ? read : undefined
  } catch {
    return undefined
  }
}

/** Arguments as JSON that every provider accepts: the model's own text if it is an object, `{}` otherwise. */
export function argumentsJson(args: unknown): string {
  const read = readArguments(args) ?? {}
  return typeof args === 'string' && args.trimStart().startsWith('{') && readArguments(args) !== undefined
    ? args
    : JSON.stringify(read)
}

/** A name that every provider accepts, even if the model made it up. */
export function replayedName(wireName: string): string {
  return /^[A-Za-z0-9_-]{1,64}$/.test(wireName) ? wireName : toWireName(wireName || 'unnamed_tool')
}

/** The ids that Anthropic, OpenAI's Responses and Bedrock accept. */
export const PLAIN_ID: RegExp = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Makes ids unique, since some servers omit or repeat them and each result must match its call. A missing id, or one
 * that does not match `form`, is derived from the response's own id, so that it differs from turn to turn.
 */
export function uniqueIds(
  ids: readonly unknown[],
  responseId: unknown,
  form: RegExp = /^/,
): readonly string[] {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return ids.map((given, index) => {
    const isUsable = typeof given === 'string' && given !== '' && form.test(given)
    const wanted = isUsable
      ? given
      : `call_${hashText(typeof responseId === 'string' ? responseId : '')}_${index}`
    const id = freeId(wanted, taken, counts)
    taken.add(id)
    return id
  })
}

/** The id itself, or the first free one of `id_2`, `id_3` …. */
export function freeId(wanted: string, taken: ReadonlySet<string>, counts: Map<string, number>): string {
  if (!taken.has(wanted)) return wanted
  const short = wanted.length <= MAX_STEM ? wanted : `call_${hashText(wanted)}`
  let count = counts.get(wanted) ?? 2
  while (taken.has(`${short}_${count}`)) count++
  counts.set(wanted, count + 1)
  return `${short}_${count}`
}

/** Leaves room for a number within the 64 characters that providers allow. */
const MAX_STEM = 56

export const CUT_OFF = 'the token limit cut this call off; call the tool again with shorter arguments'

function describeMalformed(args: unknown): string {
  const text = typeof args === 'string' ? args : (JSON.stringify(args) ?? String(args))
  const shown = text.length > 200 ? `${text.slice(0, 100)} … ${text.slice(-100)}` : text
  return `arguments: expected a JSON object, got: ${shown}`
}

function refuse(toolCallId: string, name: string, error: string): CallResult {
  return { toolCallId, name, result: { ok: false, code: 'input_invalid', error }, durationMs: 0 }
}

function notRun(toolCallId: string, name: string): CallResult {
  const error = 'the call was not run; call the tool again if you still need it'
  return { toolCallId, name, result: { ok: false, code: 'cancelled', error }, durationMs: 0 }
}
