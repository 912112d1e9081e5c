import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { runCommandLine } from '../command-line.ts'
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

  it.each([
    ['call', 'get-sum', '{bad'],
    ['call', 'get-sum', '--arg', 'bad'],
    ['memory', 'word'],
    ['memory', '--forget-all', '--forget-tool', 'x'],
    ['connect', 'emacs'],
    ['disconnect', 'emacs'],
    ['disconnect'],
    ['approve'],
    ['add', 'x'],
  ])('is usage-invalid when the words of "%s %s" are wrong, whatever the config says', async (...words) => {
    const { terminal, stdout, stderr } = fakeTerminal({ env: { HOME: '/nowhere' }, cwd: '/nowhere' })
    expect(await runCommandLine([...words, '--json'], terminal)).toBe(2)
    expect(JSON.parse(stdout())).toEqual({ error: { code: 'usage-invalid', message: expect.any(String) } })
    expect(stderr()).toMatch(/^error /)
    expect(stderr()).not.toContain('usage-invalid')
  })
})
