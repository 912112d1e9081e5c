import type { ServerExit } from './server-process.ts'

/** Describes in one line how a server ended and what it last said. */
export function describeExit({ code, signal }: ServerExit, command: string, lastWords: string): string {
  const said = tellingLine(lastWords)
  if (code === 127) return `command "${command}" not found; install it, or add it to the PATH`
  if (code === 126) return `command "${command}" cannot be executed; check its file permissions`
  const how = signal ? `it was killed by ${signal}` : `it exited with code ${code}`
  return said === '' ? how : `${how}; last output: ${said}`
}

/**
 * npm prints its reason first and the path of its log last; other programs print the error last, apart from a stack
 * trace.
 */
function tellingLine(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const line =
    lines.find((line) => NPM_ERROR.test(line)) ??
    lines.findLast((line) => /error\b/i.test(line) && !STACK_FRAME.test(line)) ??
    lines.at(-1) ??
    ''
  return line.slice(-300)
}

const NPM_ERROR = /^npm (error|ERR!) (?!code |errno |syscall |path |A complete log)\S+ +\S/
const STACK_FRAME = /^at /
