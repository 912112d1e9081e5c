import { describe, expect, it } from 'vitest'
import { runCommandLine } from './command-line.ts'
import { fakeTerminal } from './fake-terminal.fixture.ts'

async function helpOf(...words: string[]): Promise<string> {
  const { terminal, stdout } = fakeTerminal()
  expect(await runCommandLine([...words, '--help'], terminal)).toBe(0)
  return stdout()
}

describe('--help', () => {
  it('fits into 80 columns, for every command', async () => {
    const help = await helpOf()
    const commands = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)]
    expect(commands.length).toBeGreaterThan(20)
    const texts = [help]
    for (const [, command = ''] of commands) if (command !== 'help') texts.push(await helpOf(command))
    const long = texts.flatMap((text) => text.split('\n').filter((line) => line.length > 80))
    expect(long).toEqual([])
  })
})
