import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { runCommandLine } from '../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { useCommandLine } from './cli-folder.fixture.ts'

const DEMO = join(import.meta.dirname, '../examples/gateway/toolcrib.toml')
const { environment, path, toolcrib } = useCommandLine()

describe('the examples of --help', () => {
  it.each(['list', 'search', 'call', 'stats'])(
    'work with the demo: %s',
    async (command) => {
      const examples = examplesOf((await toolcrib(command, '--help')).stdout)
      expect(examples.length).toBeGreaterThan(2)
      for (const { line, input, words } of examples) {
        // What is not of the demo is said to be the reader's own.
        if (/github/.test(line)) continue
        const place = { env: environment(), cwd: path(), input: Readable.from([input]) }
        const { terminal, stderr } = fakeTerminal(place)
        const status = await runCommandLine([...words, '--config', DEMO], terminal)
        expect({ line, failure: status === 0 ? '' : stderr() }).toEqual({ line, failure: '' })
      }
    },
    60_000,
  )
})

/** Commands as they are typed, without what is said about them and what they are piped into. */
function examplesOf(help: string) {
  const lines = help.split('\n').filter((line) => /^ {2}(?:echo .* \| )?toolcrib /.test(line))
  return lines.map((line) => {
    const [typed = ''] = line.trim().split(/ {2,}/)
    const input = /^echo '(.*)' \| /.exec(typed)?.[1] ?? ''
    const own = typed.replace(/^echo .*? \| /, '').replace(/ \| jq .*$/, '')
    const words = [...own.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    return { line: typed, input, words: words.slice(1) }
  })
}
