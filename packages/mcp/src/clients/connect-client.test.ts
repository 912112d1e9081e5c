import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLIENT_FORMATS, type GatewayDoor } from './client-entries.ts'
import {
  applyConnect,
  applyDisconnect,
  type ConnectClientOptions,
  planConnect,
  planDisconnect,
} from './connect-client.ts'
import { connectableClients, findClient } from './connectable-clients.ts'
import { importServers } from './import-servers.ts'
import { ServersFile } from './servers-file.ts'

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'toolcrib-clients-'))
  await mkdir(join(root, 'project'))
})
afterEach(() => rm(root, { recursive: true }))

const place = () => ({
  home: root,
  platform: 'linux' as const,
  env: { HOME: root },
  cwd: join(root, 'project'),
})
const STDIO: GatewayDoor = {
  kind: 'stdio',
  command: '/bin/node',
  args: ['/x/main.js', 'serve', '--stdio', '--config', '/c.toml'],
}
const HTTP: GatewayDoor = { kind: 'http', url: 'http://127.0.0.1:7117/mcp', token: 'secret-token-123' }

const GOOSE = `# mine
extensions:
  developer: # part of Goose
    bundled: true
    enabled: true
    name: developer
    type: builtin
  files:
    enabled: true
    type: stdio
    name: files
    cmd: npx
    args: ["-y", "files"]
    envs: {}
    timeout: 60
GOOSE_PROVIDER: x
`
const CODEX = `model = "x" # the model\r
\r
# files are mine\r
[mcp_servers.files]\r
command = "npx"\r
args = [\r
  "-y",\r
  "files", # [mcp_servers.not]\r
]\r
\r
[mcp_servers.files.env]\r
KEY = "1"\r
\r
# how it looks\r
[tui]\r
theme = """\r
[mcp_servers.neither]\r
"""\r
`
const VSCODE =
  '{\n\t"inputs": [],\n\t"servers": { "files": { "type": "stdio", "command": "npx", "args": ["-y", "files"] } }\n}'
const CONFIGS: Readonly<Record<string, string>> = {
  codex: CODEX,
  goose: GOOSE,
  librechat: 'version: 1.2 # of the format\nmcpServers:\n  files: { command: npx, args: [-y, files] }\n',
  zed: '{\n  // theme\n  "theme": "dark",\n  "context_servers": {\n    "files": { "command": { "path": "npx", "args": ["-y", "files"] } }, // mine\n  },\n}\n',
  vscode: VSCODE,
  'vscode-insiders': VSCODE,
  vscodium: VSCODE,
}
const PLAIN =
  '\uFEFF{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "files"] } }, "theme": 1 }\r\n'

async function prepare(client: string, text = CONFIGS[client] ?? PLAIN): Promise<string> {
  const { path } = findClient(client, place()).file
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

/** Takes the client's servers into the user's config, as `connect` expects them there. */
async function known() {
  const target = join(root, '.config', 'toolcrib', 'toolcrib.toml')
  await importServers({ ...place(), clients: [], target, isDry: false })
  return (await ServersFile.open(target)).servers()
}

/** The servers of Cursor alone. */
async function cursorServers() {
  const target = join(root, 'cursor.toml')
  await importServers({ ...place(), clients: ['cursor'], target, isDry: false })
  return (await ServersFile.open(target)).servers()
}

describe('connecting a client', () => {
  it.each(Object.keys(CLIENT_FORMATS))(
    'puts one entry in place of the servers of %s, and everything back',
    async (client) => {
      const path = await prepare(client)
      const before = await readFile(path)
      const servers = await known()
      expect(servers.size).toBe(1)
      for (const door of client === 'claude-desktop' ? [STDIO] : [STDIO, HTTP]) {
        const change = await planConnect(client, { ...place(), door, known: servers })
        expect(change).toMatchObject({ client, path, moved: ['files'], kept: [] })
        expect(await readFile(path)).toEqual(before)
        const { backup } = await applyConnect(change, place())
        expect(await readFile(backup)).toEqual(before)
        const found = (await connectableClients(place())).find((each) => each.client === client)
        expect(found).toMatchObject({ isThere: true, isConnected: true, servers: [] })
        expect(found?.gateway).toBe(door.kind === 'http' ? door.url : '/c.toml')
        const text = await readFile(path, 'utf8')
        for (const comment of before.toString().match(/(?:#|\/\/) [a-z ]+(?=\r?$)/gm) ?? [])
          if (!comment.includes('mine')) expect(text).toContain(comment)
        // Nothing changes the second time, and the gateway is not imported as a server.
        const again = await planConnect(client, { ...place(), door, known: servers })
        expect(again.after).toBe(again.before)
        expect((await known()).size).toBe(1)

        const back = await planDisconnect(client, place())
        expect(back).toMatchObject({ isExact: true, moved: ['files'] })
        if (back) await applyDisconnect(back, place())
        expect(await readFile(path)).toEqual(before)
        expect(await planDisconnect(client, place())).toBeUndefined()
      }
    },
  )

  it('writes YAML as people do', async () => {
    const path = await prepare('librechat')
    const change = await planConnect('librechat', { ...place(), door: STDIO, known: await known() })
    await applyConnect(change, place())
    expect(await readFile(path, 'utf8')).toMatch(/\nmcpServers:\n {2}toolcrib:\n {4}type: stdio\n/)
  })

  it('writes what each client reads', async () => {
    const entryOf = (client: string, door: GatewayDoor) => CLIENT_FORMATS[client]?.entry(door)
    const headers = { Authorization: 'Bearer secret-token-123' }
    const { url } = HTTP as Extract<GatewayDoor, { kind: 'http' }>
    expect(entryOf('claude-desktop', HTTP)).toBeUndefined()
    expect(entryOf('claude-code', HTTP)).toEqual({ type: 'http', url, headers })
    expect(entryOf('cursor', HTTP)).toEqual({ url, headers })
    expect(entryOf('windsurf', HTTP)).toEqual({ serverUrl: url, headers })
    expect(entryOf('gemini', HTTP)).toEqual({ httpUrl: url, headers })
    expect(entryOf('cline', HTTP)).toEqual({ type: 'streamableHttp', url, headers })
    expect(entryOf('codex', HTTP)).toEqual({ url, http_headers: headers })
    expect(entryOf('goose', HTTP)).toMatchObject({ type: 'streamable_http', uri: url, headers })
    expect(entryOf('librechat', HTTP)).toEqual({ type: 'streamable-http', url, headers })
    expect(entryOf('goose', STDIO)).toMatchObject({ type: 'stdio', cmd: '/bin/node', args: STDIO.args })
    await expect(planConnect('claude-desktop', { ...place(), door: HTTP, known: new Map() })).rejects.toThrow(
      'does not accept a URL',
    )
    const misspelt = { ...place(), door: HTTP, knwon: new Map() } as unknown as ConnectClientOptions
    await expect(planConnect('cursor', misspelt)).rejects.toThrow(/knwon/)
    await expect(planConnect('curser', { ...place(), door: HTTP, known: new Map() })).rejects.toThrow(
      'did you mean "cursor"?',
    )
  })

  it('leaves servers that the gateway does not have, and those that are disabled', async () => {
    await prepare('cursor')
    const servers = await known()
    const path = await prepare(
      'cursor',
      '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"]}, "new": {"command": "x"}, "off": {"command": "npx", "args": ["-y", "files"], "disabled": true}}}',
    )
    const change = await planConnect('cursor', { ...place(), door: STDIO, known: servers })
    expect(change).toMatchObject({ moved: ['files'], kept: ['new', 'off'] })
    await applyConnect(change, place())
    expect(Object.keys(JSON.parse(await readFile(path, 'utf8')).mcpServers)).toEqual([
      'new',
      'off',
      'toolcrib',
    ])
  })

  it.each([
    ['a comma at the end', ',', ','],
    ['no comma at the end', '', ''],
    ['a comment at the end', ' // last', ''],
    ['both', ', // last', ','],
  ])('leaves the lines of other servers as they are, with %s', async (_, tail, comma) => {
    await prepare('cursor')
    const servers = await known()
    const other = '"new": { "command": "x",   "args": [ "--a" ] }'
    const path = await prepare(
      'cursor',
      `{\n  "mcpServers": {\n    "files": {"command": "npx", "args": ["-y", "files"]},\n    ${other}${tail}\n  }\n}\n`,
    )
    await applyConnect(await planConnect('cursor', { ...place(), door: HTTP, known: servers }), place())
    const after = await readFile(path, 'utf8')
    const kept = tail.startsWith(',') ? `${other}${tail}` : `${other},${tail}`
    expect(after).toContain(`  "mcpServers": {\n    ${kept}\n    "toolcrib": {\n      "url": `)
    expect(after.endsWith(`\n    }${comma}\n  }\n}\n`)).toBe(true)
  })

  it('keeps what somebody has changed since, and brings the servers back', async () => {
    const path = await prepare('cursor')
    const servers = await known()
    await applyConnect(await planConnect('cursor', { ...place(), door: STDIO, known: servers }), place())
    const connected = await readFile(path, 'utf8')
    await writeFile(path, connected.replace('"theme": 1', '"theme": 2'))
    // Another door afterwards must not make the first config the one to return to.
    await applyConnect(await planConnect('cursor', { ...place(), door: HTTP, known: servers }), place())
    const change = await planDisconnect('cursor', place())
    expect(change).toMatchObject({ isExact: false, moved: ['files'] })
    if (change) await applyDisconnect(change, place())
    expect(JSON.parse((await readFile(path, 'utf8')).slice(1))).toEqual({
      mcpServers: { files: { command: 'npx', args: ['-y', 'files'] } },
      theme: 2,
    })
  })

  it('keeps a config on one line that a program wrote so, and shows the change in lines', async () => {
    const files = { command: 'npx', args: ['-y', 'files'] }
    const whole = (mcpServers: object) => `${JSON.stringify({ theme: 'dark', mcpServers, projects: {} })}\n`
    const path = await prepare('claude-code', whole({ files, new: { command: 'x' } }))
    await prepare('cursor', whole({ files }))
    const change = await planConnect('claude-code', { ...place(), door: STDIO, known: await cursorServers() })
    const lines = change.diff.map(({ kind, text }) => `${kind}${text}`)
    expect(lines).toContain('-    "files": {')
    expect(lines).toContain('+    "toolcrib": {')
    await applyConnect(change, place())
    const text = await readFile(path, 'utf8')
    expect(text.split('\n')).toHaveLength(2)
    expect(Object.keys(JSON.parse(text).mcpServers)).toEqual(['new', 'toolcrib'])
    await writeFile(path, text.replace('dark', 'light'))
    const back = await planDisconnect('claude-code', place())
    if (back) await applyDisconnect(back, place())
    expect(await readFile(path, 'utf8')).toBe(
      whole({ new: { command: 'x' }, files }).replace('dark', 'light'),
    )
  })

  it('creates a config for a client that has none, and removes it again', async () => {
    await mkdir(join(root, '.gemini'))
    const { path } = findClient('gemini', place()).file
    const change = await planConnect('gemini', { ...place(), door: STDIO, known: new Map() })
    expect(change.before).toBeUndefined()
    await applyConnect(change, place())
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const back = await planDisconnect('gemini', place())
    if (back) await applyDisconnect(back, place())
    await expect(stat(path)).rejects.toThrow('ENOENT')
  })

  it('keeps a link, the mode, and no secret in the diff', async () => {
    const path = await prepare('cursor')
    const real = join(root, 'dotfiles.json')
    await writeFile(
      real,
      '{"mcpServers": {"a": {"command": "x", "env": {\n"API_KEY": "sk-very-secret-1234567"\n}}}}',
      {
        mode: 0o640,
      },
    )
    await rm(path)
    await symlink(real, path)
    const change = await planConnect('cursor', { ...place(), door: STDIO, known: await known() })
    expect(JSON.stringify(change.diff)).not.toContain('very-secret')
    await applyConnect(change, place())
    expect(await readFile(real, 'utf8')).toContain('toolcrib')
    expect((await stat(real)).mode & 0o777).toBe(0o640)
  })

  it('refuses a config that changed while somebody looked at the diff, or that it cannot read', async () => {
    const path = await prepare('cursor')
    const change = await planConnect('cursor', { ...place(), door: STDIO, known: new Map() })
    await writeFile(path, '{}')
    await expect(applyConnect(change, place())).rejects.toThrow('changed in the meantime')
    await writeFile(path, '{"mcpServers": ')
    await expect(planConnect('cursor', { ...place(), door: STDIO, known: new Map() })).rejects.toThrow(
      /mcp\.json: line 1, column \d+: not valid JSON/,
    )
    await prepare('codex', 'mcp_servers = { files = { command = "npx", args = ["-y", "files"] } }\n')
    await expect(planConnect('codex', { ...place(), door: STDIO, known: new Map() })).rejects.toThrow(
      'change it by hand',
    )
  })
})
