import { isRecord, readArguments } from '../json.ts'
import { isDispatchTool } from '../names.ts'
import type { Tool } from '../tool.ts'
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
    async execute(input) {
      return (await import('./explain-dispatch.ts')).explainCallTool(input.name, {
        session,
        searchTool,
        misplaced: misplacedArguments(input),
      })
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
    async execute(input) {
      return (await import('./explain-dispatch.ts')).explainCallReadTool(input.name, {
        session,
        misplaced: misplacedArguments(input),
      })
    },
  }
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

/** The keys of a call that belong in `arguments`. */
function misplacedArguments(input: object): readonly string[] {
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  return given.map(([key]) => key).filter((key) => key !== 'name' && key !== 'arguments')
}
