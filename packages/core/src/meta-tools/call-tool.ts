import { isRecord, readArguments } from '../json.ts'
import { isDispatchTool } from '../names.ts'
import { clipText } from '../text.ts'
import type { Tool, ToolResult } from '../tool.ts'
import { inputInvalid } from './answer.ts'
import type { SearchSession } from './search-session.ts'

interface Input {
  readonly name: string
  readonly arguments?: unknown
}

interface CallToolOptions {
  readonly searchTool: string
  /** True when only tools that joined after the first request are called this way. */
  readonly isForLateTools?: boolean
}

/**
 * `call_tool`: calls a tool that the surface does not show. A turn resolves such a call to its target before the
 * pipeline sees it (`dispatchedCall`); what reaches `execute` names an unknown tool, or has its arguments in
 * the wrong place.
 */
export function callTool(
  session: Pick<SearchSession, 'suggest' | 'isGone'>,
  { searchTool, isForLateTools = false }: CallToolOptions,
): Tool<Input> {
  const called = isForLateTools
    ? `Calls a tool that ${searchTool} says to call this way; call all others directly`
    : `Calls a tool found with ${searchTool}`
  return {
    name: 'call_tool',
    description: `${called}: its name, and in "arguments" an object that fits its parameters.`,
    inputSchema: INPUT,
    execute(input) {
      const { name } = input
      if (name === 'call_tool')
        return inputInvalid('call_tool cannot call itself; give the name of another tool')
      const misplaced = misplacedArguments(input)
      if (misplaced.length > 0) return inputInvalid(describeMisplaced('call_tool', name, misplaced))
      if (session.isGone(name))
        return notAvailable(
          `"${name}" is no longer available: it was removed; find another with ${searchTool}`,
        )
      const close = session.suggest(name)
      const next = close.length > 0 ? `did you mean ${close.join(' or ')}?` : `find it with ${searchTool}`
      return notAvailable(`Unknown tool: ${clipText(name, 200)}; ${next}`)
    },
  }
}

/** `call_read_tool`: the same for tools that say that they only read, so that a client may run it without asking. */
export function callReadTool(session: Pick<SearchSession, 'describe'>): Tool<Input> {
  return {
    name: 'call_read_tool',
    description:
      'Calls a tool that only reads: one that the search marks with "call_with": "call_read_tool". Takes the same arguments as call_tool, and refuses every other tool.',
    inputSchema: INPUT,
    execute(input) {
      const { name } = input
      const definition = session.describe(name)
      const misplaced = misplacedArguments(input)
      if (definition && misplaced.length > 0)
        return inputInvalid(describeMisplaced('call_read_tool', name, misplaced))
      return notAvailable(refusalToRead(definition ? definition.name : name, definition !== undefined))
    },
  }
}

/** Why `call_read_tool` does not call a tool. */
export function refusalToRead(name: string, isKnown: boolean): string {
  const shown = clipText(name, 200)
  if (!isKnown) return `Unknown tool: ${shown}; find it with the search tool. Nothing was run.`
  return `"${shown}" does not say that it only reads; call it with call_tool. Nothing was run.`
}

const INPUT = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'The name of the tool, as the search returned it.' },
    arguments: { type: 'object', description: 'The arguments of that tool.', additionalProperties: true },
  },
  required: ['name'],
}

/**
 * Returns the tool and arguments that a call of a dispatch tool names; undefined when it names no other tool, or has keys
 * besides `name` and `arguments`: a tool must not run with arguments that were not meant for it.
 */
export function dispatchedCall(args: unknown): { readonly name: string; readonly args: unknown } | undefined {
  const read = readArguments(args)
  if (!isRecord(read)) return undefined
  const { name, arguments: given } = read
  if (typeof name !== 'string' || isDispatchTool(name.trim()) || misplacedArguments(read).length > 0)
    return undefined
  return { name: name.trim(), args: given }
}

function notAvailable(error: string): ToolResult {
  return { ok: false, code: 'not_available', error }
}

function misplacedArguments(input: object): readonly string[] {
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  return given.map(([key]) => key).filter((key) => key !== 'name' && key !== 'arguments')
}

function describeMisplaced(dispatchTool: string, name: string, misplaced: readonly string[]): string {
  const shown = misplaced.slice(0, 5).map((key) => `"${clipText(key, 60)}"`)
  const form = `{ "name": "${clipText(name, 200)}", "arguments": { … } }`
  return `the arguments of the tool go in "arguments", not beside "name" (found ${shown.join(', ')}); ${dispatchTool} takes ${form}. Nothing was run.`
}
