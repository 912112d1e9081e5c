import { describe, expect, it } from 'vitest'
import { runCommandLine } from './command-line.ts'
import { fakeTerminal } from './fake-terminal.fixture.ts'

async function helpOf(...words: string[]): Promise<string> {
  const { terminal, stdout } = fakeTerminal()
  expect(await runCommandLine([...words, '--help'], terminal)).toBe(0)
  return stdout()
}

/** The names of all commands, as `--help` lists them. */
async function commandNames(): Promise<string[]> {
  const help = await helpOf()
  const names = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)]
  return names.map(([, name = '']) => name).filter((name) => name !== 'help')
}

describe('a hint at another command', () => {
  it('repeats --config and --lockfile for every command that takes them', async () => {
    const { terminal } = fakeTerminal()
    Object.assign(terminal, { config: 'a.toml', lockfile: 'b.lock' })
    const names = await commandNames()
    for (const name of names) {
      const help = await helpOf(name)
      const flags = ['--config a.toml', '--lockfile b.lock'].filter((flag) =>
        help.includes(`  ${flag.split(' ')[0]} <`),
      )
      expect(terminal.typed(`toolcrib ${name}`)).toBe(['toolcrib', name, ...flags].join(' '))
    }
  })
})

describe('--help', () => {
  it('fits into 80 columns, for every command', async () => {
    const names = await commandNames()
    expect(names.length).toBeGreaterThan(20)
    const texts = [await helpOf()]
    for (const name of names) texts.push(await helpOf(name))
    const long = texts.flatMap((text) => text.split('\n').filter((line) => line.length > 80))
    expect(long).toEqual([])
  })
})

describe('help', () => {
  it('of an unknown command is an error that suggests a known one', async () => {
    const { terminal, stdout, stderr } = fakeTerminal()
    expect(await runCommandLine(['help', 'serch'], terminal)).toBe(2)
    expect(stdout()).toBe('')
    expect(stderr()).toMatch(
      /^error unknown command 'serch'\n\(Did you mean search\?\)\nsee "toolcrib --help"\n/,
    )
  })

  it('lists no argument that is always refused', async () => {
    expect(await helpOf()).toMatch(/^ {2}memory \[options\] {2}/m)
    const { terminal, stderr } = fakeTerminal()
    expect(await runCommandLine(['memory', 'clear'], terminal)).toBe(2)
    expect(stderr()).toContain('"memory" takes flags only, not "clear"; forget with --forget-tool')
  })
})
