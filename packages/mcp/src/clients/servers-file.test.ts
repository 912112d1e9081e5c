import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ServersFile } from './servers-file.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolcrib-servers-'))
})
afterEach(() => rm(folder, { recursive: true }))

const TOML = `# servers of the team
[tools]
tool_threshold = 5 # few

# reads files
[server.files]
command = "npx" # always
args = [
  "-y",
  "files",
]

# asks GitHub
[server.github]
url = "https://x.example"
disabled = true # for now
[server.github.headers]
A = "1"

[profile.work]
servers = ["files"]
`

describe('changing the servers of a config', () => {
  const open = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return ServersFile.open(join(folder, name))
  }

  it('leaves every other line of TOML alone', async () => {
    const file = await open('toolcrib.toml', TOML)
    file.setDisabled('files', true)
    expect(file.text).toBe(TOML.replace('[server.files]\n', '[server.files]\ndisabled = true\n'))
    file.setDisabled('files', false)
    expect(file.text).toBe(TOML)
    file.setDisabled('github', false)
    expect(file.text).toBe(TOML.replace('disabled = true # for now\n', ''))
    file.remove('github')
    expect(file.text).toBe(TOML.replace(/# asks GitHub\n[\s\S]*(?=\[profile)/, ''))
    file.add([['new', { command: 'x', env: { A: '1' } }]])
    expect(file.text).toMatch(
      /servers = \["files"\]\n\n\[server\.new\]\ncommand = "x"\n\n\[server\.new\.env\]\nA = "1"\n$/,
    )
    await file.save()
    expect(await readFile(file.path, 'utf8')).toBe(file.text)
  })

  it('leaves the comments of JSON alone', async () => {
    const text =
      '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "x" }, // first\n    "b": { "command": "y" }\n  }\n}\n'
    const file = await open('mcp.json', text)
    file.setDisabled('b', true)
    expect(file.text).toBe(text.replace('{ "command": "y" }', '{ "command": "y", "disabled": true }'))
    file.setDisabled('b', false)
    file.remove('b')
    expect(file.text).toContain('// first')
    expect([...file.servers().keys()]).toEqual(['a'])
  })

  it('names the nearest server, and refuses what it cannot change', async () => {
    const file = await open('toolcrib.toml', TOML)
    expect(() => file.remove('githup')).toThrow('has no server "githup"; did you mean "github"?')
    const inline = await open('mcp.toml', 'server = { a = { command = "x" } }\n')
    expect(() => inline.remove('a')).toThrow('cannot be changed automatically')
    expect(() => file.add([['bad name!', { command: 'x' }]])).not.toThrow()
  })

  it.each([
    ['a header inside a string', '[server.a]\ncommand = """\n[server.b]\n"""\n\n[server.b]\ncommand = "y"\n'],
    [
      'a header inside a list',
      '[server.a]\ncommand = "x"\nargs = [\n"[server.b]", # ]\n]\n[server.b]\ncommand = "y"\n',
    ],
    ['quoted names', '["server"."a"]\ncommand = "x"\n[server."b"]\ncommand = "y"\n'],
    ['a list of tables', '[server.a]\ncommand = "x"\n[server.b]\ncommand = "y"\n[[other]]\nx = 1\n'],
    ['Windows line ends', '[server.a]\r\ncommand = "x"\r\n\r\n[server.b]\r\ncommand = "y"\r\n'],
  ])('is not misled by %s', async (_, text) => {
    const file = await open('toolcrib.toml', text)
    file.remove('b')
    expect([...file.servers().keys()]).toEqual(['a'])
    file.setDisabled('a', true)
    file.add([['c', { command: 'z' }]])
    expect([...file.servers().keys()]).toEqual(['a', 'c'])
    expect(file.servers().get('a')).toMatchObject({ disabled: true })
  })

  it('sets lists and hints of one server, keeps every comment, and masks secrets in the diff', async () => {
    const file = await open('t.toml', TOML)
    file.setList('files', 'pinned', ['read', 'write'])
    file.setHint('files', 'read', 'open a "document"')
    file.setHint('files', 'write', 'save')
    expect(file.text).toContain('pinned = [ "read", "write" ]')
    expect(file.text).toContain('[server.files.hints]\nread = "open a \\"document\\""\nwrite = "save"\n')
    expect(file.diff.filter(({ kind }) => kind === '-')).toEqual([])
    file.setList('files', 'pinned', [])
    file.setHint('files', 'read', '')
    file.setHint('files', 'write', '')
    expect(file.text.trimEnd()).toBe(TOML.trimEnd())
    file.add([
      ['secret', { url: 'https://y.example', headers: { Authorization: 'Bearer abcdefghijklmnop' } }],
    ])
    expect(JSON.stringify(file.diff)).not.toContain('abcdefghijklmnop')
    expect(() => file.setList('none', 'deny', ['x'])).toThrow(/has no server "none"/)
  })

  it.each(['t.toml', 't.json'])(
    'changes what is asked about in %s, with and without other settings',
    async (name) => {
      const file = await open(name, name.endsWith('json') ? '{}' : '')
      file.addAsk('destructive')
      file.addAsk('github.*')
      file.setAllowedUnasked('mcp__a__b', 'f'.repeat(64))
      file.setAllowedUnasked('mcp__a__c', 'e'.repeat(64))
      file.setAllowedUnasked('mcp__a__b', undefined)
      expect(file.asks).toBe(true)
      expect(file.text.replaceAll(/[\s"]/g, '')).toMatch(/ask.{1,2}\[destructive,github\.\*\]/)
      expect(file.text).toMatch(/mcp__a__c"?\s*[:=]/)
      expect(file.text).not.toContain('mcp__a__b')
      file.setAllowedUnasked('mcp__a__c', undefined)
      expect(file.text).not.toContain('allow_unasked')
    },
  )

  it('passes a variable on to a server, beside those it has', async () => {
    const file = await open(
      't.json',
      '{"mcpServers":{"a":{"command":"x","env":{"ONE":"1"}},"b":{"command":"y"}}}',
    )
    for (const name of ['a', 'b']) file.setVariable(name, 'KEY', '2')
    expect(file.text).toBe(
      '{"mcpServers":{"a":{"command":"x","env":{"ONE":"1","KEY":"2"}},"b":{"command":"y","env":{"KEY":"2"}}}}',
    )
    expect(() => file.setVariable('none', 'KEY', '1')).toThrow(/has no server "none"/)
  })
})
