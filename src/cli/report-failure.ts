import { CommanderError } from 'commander'
import pc from 'picocolors'
import { Interrupted } from './interrupt.ts'
import { note, plainLines, printJson } from './terminal.ts'

/** What went wrong, as `--json` prints it under `error`. */
interface Failure {
  /** A code of `ToolcribError`, or one of `usage-invalid`, `cancelled` and `internal`. */
  readonly code: string
  readonly message: string
  readonly hint?: string
}

export interface FailureOptions {
  readonly isJson: boolean
  /** The command that failed, when it could be told. */
  readonly command: string | undefined
}

/**
 * Tells what ended a command, on stderr and, for programs, as JSON on stdout; answers the exit code. What the user can
 * mend gets one line; anything else is a bug and is thrown on with its stack.
 */
export async function reportFailure(error: unknown, options: FailureOptions): Promise<number> {
  // Help and version end a command line as errors do.
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  const { exitCode, ...failure } = await describe(error, options.command)
  if (options.isJson) printJson({ error: failure })
  if (exitCode === undefined) throw error
  // The parser has said on stderr what is wrong with the words.
  if (!(error instanceof CommanderError)) showFailure(failure)
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
  const { ToolcribError } = await import('toolcrib')
  if (!(error instanceof ToolcribError))
    return { code: 'internal', message: String(error), exitCode: undefined }
  const { code, message } = error
  const isQuery = code === 'query-invalid' || code === 'pattern-invalid'
  return { code, message, ...(isQuery ? { hint } : {}), exitCode: FAILED.has(code) ? 1 : 2 }
}

/** Nothing was wrong with what the user said; it could not be done. */
const FAILED: ReadonlySet<string> = new Set(['source-unavailable', 'store-unavailable'])

function showFailure({ code, message, hint }: Failure): void {
  const next = hint === undefined ? '' : `\n${hint}`
  const label = code === 'cancelled' ? pc.yellow('cancelled') : pc.red('error')
  const suffix = code === 'cancelled' ? '' : ` ${pc.dim(`(${code})`)}`
  note(`${label} ${plainLines(message)}${suffix}${next}`)
}
