import type { ServerExit } from './server-process.ts'

/** Why a server is gone, in a line: how it ended and what it said of it. */
export function describeExit({ code, signal }: ServerExit, command: string, lastWords: string): string {
  const said = tellingLine(lastWords)
  if (code === 127) return `the command "${command}" was not found; is it installed and on the PATH?`
  if (code === 126) return `the command "${command}" cannot be executed`
  const how = signal ? `it was ended by ${signal}` : `it exited with code ${code}`
  return said === '' ? how : `${how}; it said: ${said}`
}

/** npm tells its reason first and where its log is last; others tell their error last, but for a stack. */
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
