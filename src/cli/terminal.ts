import type { Readable, Writable } from 'node:stream'
import pc from 'picocolors'
import type { Schedule } from 'toolcrib/mcp'
import { cut, wrap } from './text.ts'

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
  /** The command's exit code, unless an error ends it. */
  exitCode = 0

  constructor({ input, output, errors, env, cwd, signals, schedule = withTimers }: TerminalOptions) {
    this.input = input
    this.output = output
    this.errors = errors
    this.env = env
    this.cwd = cwd
    this.signals = signals
    this.schedule = schedule
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

  /** Wraps prose to the terminal's width; returns it unchanged when there is no terminal. */
  fit(text: string): string {
    return this.output.isTTY ? wrap(text, this.width) : text
  }

  /** Prints data for programs. */
  printJson(data: unknown): void {
    this.print(JSON.stringify(data, null, 2))
  }

  /** Prints a line for people that is not part of the result. */
  note(line: string): void {
    const { isTTY, columns } = this.errors
    this.errors.write(`${isTTY ? wrap(line, columns || 80) : line}\n`)
  }

  /** One line that is updated while work goes on; does nothing without a terminal. */
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
  return new Terminal({
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    signals: process,
  })
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
