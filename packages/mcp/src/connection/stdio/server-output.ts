import { StringDecoder } from 'node:string_decoder'

/** How a server's process ended. */
export interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The shell begins its own errors with this name, for example when it cannot find the command. */
export const SHELL_NAME = 'toolcrib'

/** Longer lines are cut. */
const MAX_CHARACTERS = 2_000
/** More lines than this within a second are counted, not reported. */
const MAX_LINES = 50
const WINDOW_MS = 1_000
/** How much is kept, to say why a server ended. */
const KEPT_CHARACTERS = 8_192

/**
 * Reads what a server writes to stderr, line by line. A flood takes little memory, and few of its lines are reported.
 */
export class ServerOutput {
  readonly #onLine: (line: string) => void
  readonly #now: () => number
  readonly #decoder = new StringDecoder('utf8')
  #last = ''
  #rest = ''
  #windowStart = Number.NEGATIVE_INFINITY
  #inWindow = 0
  #dropped = 0

  constructor(onLine: (line: string) => void, now: () => number) {
    this.#onLine = onLine
    this.#now = now
  }

  /** The last lines. */
  get last(): string {
    return this.#last
  }

  push(chunk: Buffer): void {
    const text = this.#decoder.write(chunk)
    this.#last = (this.#last + text).slice(-KEPT_CHARACTERS)
    const lines = (this.#rest + text).split('\n')
    // What is cut off here would be cut from the line anyway.
    this.#rest = (lines.pop() ?? '').slice(0, MAX_CHARACTERS + 1)
    for (const line of lines) this.#report(line)
  }

  #report(line: string): void {
    const text = line.trimEnd()
    if (text === '') return
    const now = this.#now()
    if (now - this.#windowStart >= WINDOW_MS) {
      if (this.#dropped > 0) this.#onLine(`(${this.#dropped} more lines)`)
      this.#windowStart = now
      this.#inWindow = 0
      this.#dropped = 0
    }
    if (++this.#inWindow > MAX_LINES) this.#dropped++
    else this.#onLine(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text)
  }
}

/** Describes in one line how a server ended and what it last said. */
export function describeExit({ code, signal }: ServerExit, command: string, lastWords: string): string {
  if (code === 127 || code === 126) {
    const fault = describeUnstarted(code, command, linesOf(lastWords))
    if (fault !== undefined) return fault
  }
  const said = tellingLine(linesOf(lastWords))
  const how = signal ? `it was killed by ${signal}` : `it exited with code ${code}`
  return said === '' ? how : `${how}; last output: ${said}`
}

/** The exit codes of a shell that cannot start a program: our shell the command, or the command another program. */
function describeUnstarted(code: 126 | 127, command: string, lines: readonly string[]): string | undefined {
  if (lines.at(-1)?.startsWith(`${SHELL_NAME}: `))
    return code === 127
      ? `command "${command}" not found; install it, or add it to the PATH`
      : `command "${command}" cannot be executed; check its file permissions`
  const named = lines.findLast((line) => NOT_FOUND.test(line))
  if (code === 126 || (named === undefined && lines.length > 0)) return undefined
  const what = named === undefined ? ' (exit code 127)' : `: ${named.slice(-MAX_SAID)}`
  return `"${command}" could not find a program it was to run${what}; install that program, or correct the server's args`
}

const NOT_FOUND = /not found|no such file/i

/**
 * npm prints its reason first and the path of its log last; other programs print the error last, apart from a stack
 * trace.
 */
function tellingLine(lines: readonly string[]): string {
  const line =
    lines.find((line) => NPM_ERROR.test(line)) ??
    lines.findLast((line) => /error\b/i.test(line) && !STACK_FRAME.test(line)) ??
    lines.at(-1) ??
    ''
  return line.slice(-MAX_SAID)
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

const MAX_SAID = 300

const NPM_ERROR = /^npm (error|ERR!) (?!code |errno |syscall |path |A complete log)\S+ +\S/
const STACK_FRAME = /^at /
