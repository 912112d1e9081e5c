import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { LineReader } from './line-reader.ts'

function open(isInteractive: boolean) {
  const input = new PassThrough()
  const lines = new LineReader({
    input,
    output: new PassThrough(),
    isInteractive,
    history: [],
    onInterrupt: () => {},
  })
  const type = async (line: string) => {
    input.write(`${line}\n`)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { lines, type }
}

describe('lines that arrive early', () => {
  it('wait for the next prompt', async () => {
    const { lines, type } = open(true)
    await type('next')
    expect(await lines.ask('> ')).toBe('next')
    lines.close()
  })

  it('do not answer a question that is not shown yet', async () => {
    const { lines, type } = open(true)
    await type('y')
    const answer = lines.askAfterPrompt('Run it? ')
    await type('n')
    expect(await answer).toBe('n')
    lines.close()
  })

  it('answer it when the input is not a terminal', async () => {
    const { lines, type } = open(false)
    await type('y')
    expect(await lines.askAfterPrompt('Run it? ')).toBe('y')
    lines.close()
  })
})
