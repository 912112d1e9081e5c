import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeProgram, runCommandLine } from './command-line.ts'
import { fakeTerminal } from './terminal/fake-terminal.fixture.ts'
import type { OwnProgram } from './terminal/own-program.ts'

/** How the program of a clone is started; its name is the longest. */
const OF_CLONE = { name: 'node dist/cli/main.js', command: 'node', args: ['dist/cli/main.js'] }

async function helpOf(...words: string[]): Promise<string> {
  return helpAs(undefined, ...words)
}

async function helpAs(program: OwnProgram | undefined, ...words: string[]): Promise<string> {
  const { terminal, stdout } = fakeTerminal(program && { program })
  expect(await runCommandLine([...words, '--help'], terminal)).toBe(0)
  return stdout()
}

/** The names of all commands, as `--help` lists them. */
async function commandNames(): Promise<string[]> {
  const help = await helpOf()
  const names = [...help.slice(help.indexOf('Set up:')).matchAll(/^ {2}([a-z-]+)/gm)]
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

  it('can be typed as it is printed', async () => {
    expect(hints().length).toBeGreaterThan(30)
    for (const hint of hints()) {
      const words = hint.split(' ')
      const { terminal, stderr } = fakeTerminal()
      const program = describeProgram(terminal, words)
      // Parsed only: the commands themselves do nothing.
      for (const command of program.commands) command.action(() => {})
      await program
        .parseAsync(words, { from: 'user' })
        .catch(({ exitCode }) => expect(exitCode, hint).toBe(0))
      expect(stderr(), hint).toBe('')
    }
  })
})

/** Every `"toolcrib …"` in the code: what a person may type, with a word in place of what is filled in. */
function hints(): string[] {
  const root = join(import.meta.dirname, '..')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => /\.tsx?$/.test(file) && !/\.(?:test|fuzz)\.ts$/.test(file))
  const texts = sources.map((file) => readFileSync(join(root, file), 'utf8').replace(/\$\{[^}"]*\}/g, 'word'))
  const found = texts.flatMap((text) => [...text.matchAll(/"toolcrib (?!word)([^"`\n]+)"/g)])
  return [...new Set(found.map(([, words = '']) => words.replace(/<[^>]*>/g, 'word')))]
}

describe('--help', () => {
  it('groups its commands, those for a beginner first', async () => {
    const headings = (await helpOf()).match(/^[A-Z][a-z ]+:$/gm)
    expect(headings).toEqual([
      'Options:',
      'Set up:',
      'Servers:',
      'Gateway:',
      'Tools:',
      'Approvals:',
      'Shell:',
    ])
  })

  it('fits into 80 columns, for every command', async () => {
    const names = await commandNames()
    expect(names.length).toBeGreaterThan(20)
    const texts = [await helpOf()]
    for (const name of names) texts.push(await helpOf(name), await helpAs(OF_CLONE, name))
    texts.push(await helpAs(OF_CLONE))
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
