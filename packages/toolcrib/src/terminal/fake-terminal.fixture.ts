import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { Terminal, type TerminalOptions } from './terminal.ts'

/** A non-interactive terminal for tests that records what is printed. */
export function fakeTerminal(options: Partial<TerminalOptions> = {}) {
  const output = keep()
  const errors = keep()
  const terminal = new Terminal({
    input: Readable.from([]),
    output,
    errors,
    env: {},
    cwd: process.cwd(),
    signals: new EventEmitter(),
    // What a slow machine says in addition is tested where it is meant.
    patienceMs: Number.POSITIVE_INFINITY,
    // A collection takes long in a process that has loaded many tests.
    collectGarbage: () => {},
    ...options,
  })
  return { terminal, stdout: output.text, stderr: errors.text }
}

function keep(): Writable & { text(): string } {
  const chunks: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk))
      done()
    },
  })
  return Object.assign(stream, { text: () => chunks.join('') })
}
