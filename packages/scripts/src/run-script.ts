import type { Tool, ToolContext, ToolResult } from '@toolcrib/core'

const DESCRIPTION =
  'Runs a JavaScript or TypeScript program that calls tools. Only what it returns and prints comes back to you. Use it for five or more calls: loops, filters, joins, counts. For fewer, or to show a result to the user, call the tool directly. Each tool is an async function of one object: await tools.github.create_issue({ owner, repo, title }). A failed call throws an error with a code. Start independent calls together with Promise.all. Find tools with tool_search, or inside with await tools.search("close issue"), which returns types. If a result\'s type is unknown, return one first. A call that needs approval pauses the program; it continues by itself. Do not run it again. End with return, and return little: ids, counts, needed fields. No network, files, timers, imports or Intl.'

/** `run_script`: a program over tools. Its definition never changes, and how long it may take is its own limit. */
export function runScript(
  run: (code: string, ctx: Pick<ToolContext, 'toolCallId' | 'signal'>) => Promise<ToolResult>,
): Tool<{ readonly code: string }> {
  return {
    name: 'run_script',
    description: DESCRIPTION,
    inputSchema: {
      type: 'object',
      properties: { code: { type: 'string', description: 'The program, as the body of an async function.' } },
      required: ['code'],
    },
    annotations: { readOnlyHint: false },
    timeoutMs: 0,
    execute: ({ code }, ctx) => run(code, ctx),
  }
}
