import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { reportFailure } from './report-failure.ts'

const unseen = { isJson: false, command: 'list' }

describe('what ends a command', () => {
  it('is no failure when it was asked for help or version', async () => {
    expect(await reportFailure(new CommanderError(0, 'commander.help', '(outputHelp)'), unseen)).toBe(0)
  })

  it('is thrown on with its stack when it is a bug', async () => {
    const bug = new TypeError('x is not a function')
    await expect(reportFailure(bug, unseen)).rejects.toBe(bug)
  })
})
