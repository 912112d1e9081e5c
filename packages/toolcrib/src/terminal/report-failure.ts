import { CommanderError } from 'commander'
import pc from 'picocolors'
import { Interrupted } from './interrupt.ts'
import type { Terminal } from './terminal.ts'
import { plainLines } from './text.ts'
import { UsageError } from './usage-error.ts'

/** An error, as `--json` prints it under `error`. */
interface Failure {
  /** A code of `ToolcribError`, or one of `usage-invalid`, `cancelled` and `internal`. */
  readonly code: string
  readonly message: string
  readonly hint?: string
}

export interface FailureOptions {
  readonly isJson: boolean
  /** The command that failed; undefined when the command line has none. */
  readonly command: string | undefined
}

/**
 * Reports the error that ended a command, on stderr and, with `--json`, on stdout. Returns the exit code. An error
 * that the user can fix is one line; any other is a bug and is rethrown with its stack.
 */
export async function reportFailure(
  error: unknown,
  terminal: Terminal,
  options: FailureOptions,
): Promise<number> {
  // Commander also throws for --help and --version.
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  const { exitCode, ...failure } = await describe(error, options.command)
  const { message, hint } = failure
  const typed = {
    message: terminal.hinted(message),
    ...(hint === undefined ? {} : { hint: terminal.hinted(hint) }),
  }
  if (options.isJson) terminal.printJson({ error: { ...failure, ...typed } })
  if (exitCode === undefined) throw error
  // Commander has already printed its own message.
  if (!(error instanceof CommanderError)) terminal.note(describeFailure(failure))
  return exitCode
}

async function describe(
  error: unknown,
  command: string | undefined,
): Promise<Failure & { readonly exitCode: number | undefined }> {
  const hint = `see "toolcrib ${command === undefined ? '' : `${command} `}--help"`
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, '')
    return { code: 'usage-invalid', message, hint, exitCode: 2 }
  }
  if (error instanceof Interrupted)
    return { code: 'cancelled', message: error.message, exitCode: error.exitCode }
  if (error instanceof UsageError) return { code: error.code, message: error.message, exitCode: 2 }
  const { ToolcribError } = await import('@toolcrib/core')
  if (!(error instanceof ToolcribError))
    return { code: 'internal', message: String(error), exitCode: undefined }
  const { code, message } = error
  const isQuery = code === 'query-invalid' || code === 'pattern-invalid'
  return { code, message, ...(isQuery ? { hint } : {}), exitCode: FAILED.has(code) ? 1 : 2 }
}

/** Errors that are not the user's fault: the input was valid, but the work could not be done. */
const FAILED: ReadonlySet<string> = new Set(['source-unavailable', 'store-unavailable'])

function describeFailure({ code, message, hint }: Failure): string {
  const next = hint === undefined ? '' : `\n${hint}`
  const label = code === 'cancelled' ? pc.yellow('cancelled') : pc.red('error')
  return `${label} ${plainLines(message)}${next}`
}
