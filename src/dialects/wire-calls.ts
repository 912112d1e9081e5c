import { hashText, isRecord } from '../json.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { WireTools } from './wire-tools.ts'

/** A call as the provider sent it. */
export interface WireCall {
  /** Unique within its reply. */
  readonly id: string
  readonly wireName: string
  /** An object, or JSON that should be one. */
  readonly args: unknown
  /** Why it must not run, whatever its arguments. */
  readonly fault?: string | undefined
}

export interface ReadCalls {
  readonly calls: readonly ToolCall[]
  readonly unrunnable: readonly CallResult[]
}

/** Calls that can be run, under their registered names, and answers for those that cannot. */
export function readCalls(wireCalls: readonly WireCall[], tools: WireTools): ReadCalls {
  const calls: ToolCall[] = []
  const unrunnable: CallResult[] = []
  for (const { id, wireName, args, fault } of wireCalls) {
    const name = tools.fromWireName(wireName)
    const read = readArguments(args)
    if (fault !== undefined) unrunnable.push(refuse(id, name, fault))
    else if (read === undefined) unrunnable.push(refuse(id, name, describeMalformed(args)))
    else calls.push({ toolCallId: id, name, args: tools.fromWireArguments(name, read) })
  }
  return { calls, unrunnable }
}

/** One answer to each call, in the order of the calls, whatever was run. */
export function answersTo(
  wireCalls: readonly WireCall[],
  results: readonly CallResult[],
  tools: WireTools,
): readonly CallResult[] {
  const { unrunnable } = readCalls(wireCalls, tools)
  const known = new Map([...unrunnable, ...results].map((result) => [result.toolCallId, result]))
  return wireCalls.map(({ id, wireName }) => known.get(id) ?? notRun(id, tools.fromWireName(wireName)))
}

/** Arguments as an object; undefined when they are none. Nothing at all counts as `{}`. */
export function readArguments(args: unknown): Record<string, unknown> | undefined {
  if (args === undefined || args === null) return {}
  if (typeof args !== 'string') return isRecord(args) ? args : undefined
  if (args.trim() === '') return {}
  try {
    const read: unknown = JSON.parse(args)
    return isRecord(read) ? read : undefined
  } catch {
    return undefined
  }
}

/**
 * The ids, each once: some servers leave them out or use one twice, and an answer must find its call. One that was
 * left out is made of the response it stands in, so that it is another in every turn.
 */
export function uniqueIds(
  ids: readonly (string | null | undefined)[],
  responseId: string | undefined,
): readonly string[] {
  const taken = new Set<string>()
  return ids.map((given, index) => {
    const wanted = given ? given : `call_${hashText(responseId ?? '')}_${index}`
    let id = wanted
    for (let count = 2; taken.has(id); count++) id = `${wanted}_${count}`
    taken.add(id)
    return id
  })
}

export const CUT_OFF = 'the call was cut off by the token limit; make it again with shorter arguments'

function describeMalformed(args: unknown): string {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  const shown = text.length > 200 ? `${text.slice(0, 100)} … ${text.slice(-100)}` : text
  return `arguments: expected a JSON object, but this is none: ${shown}`
}

function refuse(toolCallId: string, name: string, error: string): CallResult {
  return { toolCallId, name, result: { ok: false, code: 'input_invalid', error }, durationMs: 0 }
}

function notRun(toolCallId: string, name: string): CallResult {
  const error = 'the call was not run; make it again if it is still needed'
  return { toolCallId, name, result: { ok: false, code: 'cancelled', error }, durationMs: 0 }
}
