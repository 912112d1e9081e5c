import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { fakeTerminal } from './fake-terminal.fixture.ts'

const LONG = 'word '.repeat(10).trim()

function screen(columns: number) {
  return Object.assign(new PassThrough(), { isTTY: true, columns })
}

function read(stream: PassThrough): string {
  return String(stream.read() ?? '')
}

describe('a terminal', () => {
  it('wraps prose to its width, and prints lines unchanged', () => {
    const output = screen(24)
    const { terminal } = fakeTerminal({ output })
    terminal.say(LONG)
    expect(read(output)).toBe('word word word word word\nword word word word word\n')
    terminal.print(LONG)
    expect(read(output)).toBe(`${LONG}\n`)
    expect(terminal.width).toBe(24)
  })

  it('treats a width of 0 as unknown', () => {
    expect(fakeTerminal({ output: screen(0) }).terminal.width).toBe(100)
  })

  it('writes hints as they can be typed here', () => {
    const program = { name: 'npx toolcrib', command: 'npx', args: [], install: 'npm install -g' }
    const { terminal, stdout, stderr } = fakeTerminal({ program })
    terminal.config = 'work.toml'
    terminal.say(
      'see "toolcrib status", "toolcrib import --user", "toolcrib --help", "toolcrib lock --config x"',
    )
    expect(stdout()).toBe(
      'see "npx toolcrib status --config work.toml", "npx toolcrib import --user", "npx toolcrib --help", "npx toolcrib lock --config x"\n',
    )
    terminal.lockfile = 'work.lock'
    expect(terminal.hinted('"toolcrib lock", "toolcrib status"')).toBe(
      '"npx toolcrib lock --config work.toml --lockfile work.lock", "npx toolcrib status --config work.toml"',
    )
    expect(terminal.hinted('"toolcrib lock --config x", "toolcrib lock --lockfile y"')).toBe(
      '"npx toolcrib lock --lockfile work.lock --config x", "npx toolcrib lock --config work.toml --lockfile y"',
    )
    terminal.lockfile = undefined
    terminal.config = "/my work/it's.toml"
    expect(terminal.hinted('"toolcrib eval"')).toBe(`"npx toolcrib eval --config '/my work/it'\\''s.toml'"`)
    expect(terminal.hinted('\u001B[31mnpm install openai\u001B[39m\n')).toContain('npm install -g openai')
    for (const rest of ['; start it', ' (see the docs)'])
      expect(terminal.hinted(`npm install ioredis${rest}`)).toBe(`npm install -g ioredis${rest}`)
    terminal.note('install it with: npm install @some/sdk')
    expect(stderr()).toBe('install it with: npm install -g @some/sdk\n')
  })

  it('shows examples as they can be typed here, and never breaks a command in two', () => {
    const program = { name: 'node dist/cli/main.js', command: 'node', args: [] }
    const { terminal } = fakeTerminal({ program, output: screen(44) })
    const examples = [
      'Examples:',
      '  toolcrib lock   all',
      '  toolcrib list files         one of them',
      `  echo hi | toolcrib call echo -`,
      `  toolcrib list --json | jq '.servers[] | {name, state}'`,
      'toolcrib is also a word in prose, and prose is wrapped',
    ]
    expect(terminal.help(examples.join('\n'))).toBe(
      [
        'Examples:',
        '  node dist/cli/main.js lock   all',
        '  node dist/cli/main.js list files',
        '      one of them',
        '  echo hi | node dist/cli/main.js call \\',
        '    echo -',
        '  node dist/cli/main.js list --json | jq \\',
        `    '.servers[] | {name, state}'`,
        'toolcrib is also a word in prose, and prose',
        'is wrapped',
      ].join('\n'),
    )
  })

  it('keeps notes and progress out of stdout', () => {
    const errors = screen(24)
    const { terminal, stdout } = fakeTerminal({ errors })
    terminal.note(LONG)
    expect(read(errors)).toBe('word word word word word\nword word word word word\n')
    const line = terminal.progressLine()
    line.show(LONG)
    expect(read(errors)).toContain('word word word word wo…')
    line.clear()
    expect(read(errors)).toBe('\r\u001B[K')
    expect(stdout()).toBe('')
  })

  it('is interactive when both input and output are', () => {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    expect(fakeTerminal({ input, output: screen(80) }).terminal.isInteractive).toBe(true)
    expect(fakeTerminal({ input }).terminal.isInteractive).toBe(false)
    expect(fakeTerminal({ output: screen(80) }).terminal.isInteractive).toBe(false)
  })

  it('wraps nothing and shows no progress without a terminal', () => {
    const { terminal, stdout, stderr } = fakeTerminal()
    terminal.say(LONG)
    terminal.printJson({ a: 1 })
    terminal.progressLine().show('waiting')
    expect(stdout()).toBe(`${LONG}\n{\n  "a": 1\n}\n`)
    expect(stderr()).toBe('')
  })
})
