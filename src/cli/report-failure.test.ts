import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { fakeTerminal } from './fake-terminal.fixture.ts'
import { reportFailure } from './report-failure.ts'

const unseen = { isJson: false, command: 'list' }

describe('an error that ends a command', () => {
  it('is not a failure after --help or --version', async () => {
    const help = new CommanderError(0, 'commander.help', '(outputHelp)')
    const { terminal, stdout, stderr } = fakeTerminal()
    expect(await reportFailure(help, terminal, unseen)).toBe(0)
    expect(stdout() + stderr()).toBe('')
  })

  it('is rethrown with its stack when it is a bug', async () => {
    const bug = new TypeError('x is not a function')
    await expect(reportFailure(bug, fakeTerminal().terminal, unseen)).rejects.toBe(bug)
  })
})
