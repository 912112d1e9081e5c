import type { ServerExit } from './server-process.ts'

/** Why a server is gone, in a line: how it ended and the last it said. */
export function describeExit({ code, signal }: ServerExit, command: string, lastWords: string): string {
  const said = lastLine(lastWords)
  if (code === 127) return `the command "${command}" was not found; is it installed and on the PATH?`
  if (code === 126) return `the command "${command}" cannot be executed`
  const how = signal ? `it was ended by ${signal}` : `it exited with code ${code}`
  return said === '' ? how : `${how}; it said: ${said}`
}

function lastLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return (lines.findLast((line) => line !== '') ?? '').slice(-300)
}
