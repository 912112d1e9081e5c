import { isRecord, readArguments } from '../json.ts'
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
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the tool, as the search returned it.' },
        arguments: { type: 'object', description: 'The arguments of that tool.', additionalProperties: true },
      },
      required: ['name'],
    },
    execute(input) {
      const { name } = input
      if (name === 'call_tool')
        return inputInvalid('call_tool cannot call itself; give the name of another tool')
      const misplaced = misplacedArguments(input)
      if (misplaced.length > 0) return inputInvalid(describeMisplaced(name, misplaced))
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

/**
 * Returns the tool and arguments that a call of `call_tool` names; undefined when it names no other tool, or has keys
 * besides `name` and `arguments`: a tool must not run with arguments that were not meant for it.
 */
export function dispatchedCall(args: unknown): { readonly name: string; readonly args: unknown } | undefined {
  const read = readArguments(args)
  if (!isRecord(read)) return undefined
  const { name, arguments: given } = read
  if (typeof name !== 'string' || name.trim() === 'call_tool' || misplacedArguments(read).length > 0)
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

function describeMisplaced(name: string, misplaced: readonly string[]): string {
  const shown = misplaced.slice(0, 5).map((key) => `"${clipText(key, 60)}"`)
  const form = `{ "name": "${clipText(name, 200)}", "arguments": { … } }`
  return `the arguments of the tool go in "arguments", not beside "name" (found ${shown.join(', ')}); call_tool takes ${form}. Nothing was run.`
}
