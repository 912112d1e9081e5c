import type { ProcessOutcome, Tool } from '@toolcrib/core'
import { defineTool, terminalReducer } from '@toolcrib/core'
import { answering, granted, success } from './answering.ts'

/** `exec`: runs one command and returns its output. */
export function execTool(): Tool {
  return defineTool({
    name: 'exec',
    title: 'Run a command',
    description:
      'Runs a command on this machine and returns its stdout, then its stderr, then the exit code if it is not 0. ' +
      'There is no shell: pass the program in command and each argument as a separate entry of args; pipes, redirects, ' +
      'wildcards and variables do not work.',
    inputSchema: {
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1, description: 'The program to run, e.g. git' },
        args: {
          type: 'array',
          items: { type: 'string' },
          description: 'Its arguments, one entry each, e.g. ["status", "--short"]',
        },
        cwd: { type: 'string', description: 'Directory to run in' },
        timeoutMs: {
          type: 'integer',
          minimum: 1,
          description: 'Stop the command after this many milliseconds; the host may allow less',
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    toolset: 'process',
    searchHint: 'run shell terminal command line program script build test git npm',
    capabilities: { process: ['*'] },
    // The backend enforces its own timeout and returns the output so far.
    timeoutMs: 0,
    reduce: terminalReducer({ toolName: 'exec' }).reduce,
    execute: answering(async ({ command, args, cwd, timeoutMs }, ctx) => {
      const outcome = await granted(ctx, 'process').run(command, args ?? [], {
        ...(cwd === undefined ? {} : { cwd }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
      const { exitCode, signal, isCut } = outcome
      return success(describeOutcome(outcome), { exitCode, signal, isCut })
    }),
  })
}

function describeOutcome({ stdout, stderr, exitCode, signal, isFlooded }: ProcessOutcome): string {
  const parts = [stdout, stderr].filter((text) => text !== '')
  if (parts.length === 0 && exitCode === 0) parts.push('(no output)')
  if (isFlooded) parts.push('[stopped: too much output; make the command print less]')
  else if (exitCode === null) parts.push(`[ended by ${signal ?? 'a signal'}]`)
  else if (exitCode !== 0) parts.push(`[exit code ${exitCode}]`)
  return parts.map((part, index) => (index < parts.length - 1 ? withNewline(part) : part)).join('')
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}
