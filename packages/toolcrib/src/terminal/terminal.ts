import type { Readable, Writable } from 'node:stream'
import type { Schedule } from '@toolcrib/mcp'
import pc from 'picocolors'
import { withSavedVariables } from '../config/saved-variables.ts'
import { type OwnProgram, ownProgram, TOOLCRIB } from './own-program.ts'
import { cut, wrap } from './text.ts'
import { helpLine, withTypedCommands } from './typed-commands.ts'

/** The streams, environment and folder of a command: the process's own, or those of a test. */
export interface TerminalOptions {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: OutputStream
  readonly errors: OutputStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly signals: SignalSource
  /** How a command waits. Default: timers. */
  readonly schedule?: Schedule
  /** How long a command waits before it says how to stop or shorten the wait. Default: two seconds. */
  readonly patienceMs?: number
  /** Frees unused memory before it is measured. Default: a full garbage collection. */
  readonly collectGarbage?: () => void
  /** How this program was started. Default: as `toolcrib`. */
  readonly program?: OwnProgram
}

export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** Emits `SIGINT`, `SIGTERM` and `SIGHUP`, as a process does. */
export interface SignalSource {
  on(signal: string, listener: () => void): unknown
  off(signal: string, listener: () => void): unknown
}

/**
 * The terminal of one command: results go to stdout, notes and progress to stderr. Text for people is wrapped to the
 * terminal's width, and printed unchanged when there is no terminal.
 */
export class Terminal {
  readonly input: TerminalOptions['input']
  readonly output: OutputStream
  readonly errors: OutputStream
  readonly env: TerminalOptions['env']
  readonly cwd: string
  readonly signals: SignalSource
  readonly schedule: Schedule
  readonly patienceMs: number
  readonly collectGarbage: (() => void) | undefined
  readonly program: OwnProgram
  /** The `--config` of the command, which its hints repeat. */
  config: string | undefined
  /** The `--lockfile` of the command, repeated in hints at commands that accept one. */
  lockfile: string | undefined
  /** The command's exit code, unless an error ends it. */
  exitCode = 0

  constructor(options: TerminalOptions) {
    const { input, output, errors, env, cwd, signals, schedule = withTimers, program = TOOLCRIB } = options
    this.input = input
    this.output = output
    this.errors = errors
    this.env = env
    this.cwd = cwd
    this.signals = signals
    this.schedule = schedule
    this.patienceMs = options.patienceMs ?? 2_000
    this.collectGarbage = options.collectGarbage
    this.program = program
  }

  /** Whether a person reads the output and can answer questions. */
  get isInteractive(): boolean {
    return this.input.isTTY === true && this.output.isTTY === true
  }

  /** Characters per line of output. Some terminals report 0. */
  get width(): number {
    return this.output.isTTY ? this.output.columns || 100 : 120
  }

  /** Prints a line unchanged. */
  print(line = ''): void {
    this.output.write(`${line}\n`)
  }

  /** Prints prose, wrapped between words. */
  say(line = ''): void {
    this.print(this.fit(line))
  }

  /** Wraps prose to the terminal's width, and returns it unwrapped without a terminal; hints become commands that can be typed. */
  fit(text: string): string {
    return this.output.isTTY ? wrap(this.hinted(text), this.width) : this.hinted(text)
  }

  /** Wraps the text of a `--help`, without a terminal to 80 characters. Examples stay commands that can be copied. */
  help(text: string): string {
    const lineWidth = this.output.isTTY ? this.width : 80
    const lines = this.hinted(text).split('\n')
    return lines.map((line) => helpLine(line, this.program, lineWidth)).join('\n')
  }

  /** Writes `"toolcrib status"` in a text as a person would have to type it here. */
  hinted(text: string): string {
    return withTypedCommands(text, this)
  }

  /** A command as a person would have to type it here, such as `toolcrib status`. */
  typed(command: string): string {
    return this.hinted(`"${command}"`).slice(1, -1)
  }

  /** Prints data for programs. */
  printJson(data: unknown): void {
    this.print(JSON.stringify(data, null, 2))
  }

  /** Prints a line for people that is not part of the result. */
  note(line: string): void {
    const { isTTY, columns } = this.errors
    const hinted = this.hinted(line)
    this.errors.write(`${isTTY ? wrap(hinted, columns || 80) : hinted}\n`)
  }

  /** Prints a line for people that they should act on. */
  warn(line: string): void {
    this.note(`${pc.yellow('note')} ${line}`)
  }

  /** One line that is updated while work continues; does nothing without a terminal. */
  progressLine(): ProgressLine {
    return progressLine(this.errors)
  }
}

function withTimers(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms)
  return () => clearTimeout(timer)
}

/** The process's own terminal. */
export function processTerminal(): Terminal {
  const { execPath: node } = process
  const env = withSavedVariables(process.env)
  const cwd = workingDirectory()
  return new Terminal({
    program: ownProgram({ script: process.argv[1], node, env, cwd }),
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    env,
    cwd,
    signals: process,
  })
}

/** Exits if the working directory has been deleted: config files and servers could not be found from there. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    process.stderr.write(`${pc.red('error')} the current folder no longer exists; change to another one\n`)
    return process.exit(2)
  }
}

/** Where progress is written. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

export interface ProgressLine {
  show(text: string): void
  clear(): void
}

export function progressLine(stream: ProgressStream): ProgressLine {
  if (!stream.isTTY) return { show: () => {}, clear: () => {} }
  const erase = '\r\u001B[K'
  let isShown = false
  return {
    show: (text) => {
      isShown = true
      stream.write(erase + pc.dim(cut(text, (stream.columns || 80) - 1)))
    },
    clear: () => {
      if (isShown) stream.write(erase)
      isShown = false
    },
  }
}
