import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clientFiles } from './client-files.ts'
import { type ImportOptions, importServers } from './import-servers.ts'

let root = ''
let home = ''
let cwd = ''

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'toolcrib-import-'))
  home = join(root, 'home')
  cwd = join(root, 'project')
  await mkdir(home)
  await mkdir(cwd)
})
afterEach(() => rm(root, { recursive: true }))

async function write(path: string, content: string | object): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
}

function run(more: Partial<ImportOptions> = {}) {
  const target = join(cwd, 'toolcrib.toml')
  return importServers({ home, cwd, platform: 'linux', env: {}, clients: [], target, isDry: false, ...more })
}

const written = async () => parse(await readFile(join(cwd, 'toolcrib.toml'), 'utf8'))
const files = { command: 'npx', args: ['-y', 'files'] }

describe('importing servers', () => {
  it("reads each program's own format", async () => {
    const config = join(home, '.config')
    await write(join(config, 'Claude', 'claude_desktop_config.json'), { mcpServers: { desktop: files } })
    await write(join(home, '.claude.json'), {
      mcpServers: { code: { type: 'stdio', command: 'a', env: {} } },
      projects: {
        [cwd]: { mcpServers: { here: { command: 'b' } } },
        '/other': { mcpServers: { not: files } },
      },
    })
    await write(
      join(home, '.cursor', 'mcp.json'),
      '{ // mine\n "mcpServers": { "cursor": { "url": "https://c.example" }, } }',
    )
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const env = { KEY: '${input:api-key}' }
    await write(join(config, 'Code', 'User', 'mcp.json'), {
      inputs: [],
      servers: { code2: { command: 'c', env } },
    })
    await write(join(cwd, '.vscode', 'mcp.json'), {
      servers: { code3: { type: 'http', url: 'https://v.example' } },
    })
    await write(join(home, '.codeium', 'windsurf', 'mcp_config.json'), {
      mcpServers: { surf: { serverUrl: 'https://w.example' } },
    })
    await write(join(config, 'zed', 'settings.json'), {
      theme: 'dark',
      context_servers: {
        zed: { command: { path: 'd', args: ['e'], env: null } },
        zed2: { command: 'f', args: [] },
      },
    })
    await write(
      join(home, '.codex', 'config.toml'),
      'model = "x"\n[mcp_servers.codex]\nurl = "https://x.example"\nbearer_token_env_var = "TOKEN"\n',
    )
    await write(join(config, 'opencode', 'opencode.json'), {
      mcp: { open: { type: 'local', command: ['g', 'h'], environment: { A: '1' } } },
    })
    await write(join(cwd, '.mcp.json'), { mcpServers: { own: { command: 'i' } } })

    const { added } = await run()
    expect([...added].sort()).toEqual(
      [
        'desktop',
        'code',
        'here',
        'cursor',
        'code2',
        'code3',
        'surf',
        'zed',
        'zed2',
        'codex',
        'open',
        'own',
      ].sort(),
    )
    expect(await written()).toEqual({
      server: {
        own: { command: 'i' },
        desktop: files,
        code: { type: 'stdio', command: 'a' },
        here: { command: 'b' },
        cursor: { url: 'https://c.example' },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
        code2: { command: 'c', env: { KEY: '${API_KEY}' } },
        code3: { type: 'http', url: 'https://v.example' },
        surf: { url: 'https://w.example' },
        zed: { command: 'd', args: ['e'] },
        zed2: { command: 'f' },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
        codex: { url: 'https://x.example', headers: { Authorization: 'Bearer ${TOKEN}' } },
        open: { command: 'g', args: ['h'], env: { A: '1' } },
      },
    })
  })

  it.each([
    ['linux', '/h/.config/Claude/claude_desktop_config.json', '/h/.config/Code/User/mcp.json'],
    [
      'darwin',
      '/h/Library/Application Support/Claude/claude_desktop_config.json',
      '/h/Library/Application Support/Code/User/mcp.json',
    ],
    ['win32', 'C:\\Roaming\\Claude\\claude_desktop_config.json', 'C:\\Roaming\\Code\\User\\mcp.json'],
  ] as const)('looks where programs store their files on %s', (platform, ...expected) => {
    const env = platform === 'win32' ? { APPDATA: 'C:\\Roaming' } : {}
    const paths = clientFiles({ home: '/h', cwd: '/p', platform, env }).map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(expected))
  })

  it('leaves the servers of the project to it where they would become the user’s', async () => {
    await write(join(home, '.claude.json'), {
      mcpServers: { mine: files },
      projects: { [cwd]: { mcpServers: { here: { command: 'b' } } } },
    })
    await write(join(cwd, '.mcp.json'), { mcpServers: { own: { command: './i' } } })
    await write(join(cwd, '.cursor', 'mcp.json'), { mcpServers: {} })
    await write(join(cwd, 'librechat.yaml'), 'mcpServers:\n  chat:\n    command: ./c\n')
    const outcome = await run({ isOfUser: true })
    expect(outcome).toMatchObject({
      added: ['mine'],
      leftOut: [join(cwd, '.mcp.json'), join(home, '.claude.json'), join(cwd, 'librechat.yaml')],
    })
    expect(await run({ isOfUser: true, clients: ['project'] })).toMatchObject({ added: ['own'], leftOut: [] })
  })

  it('leaves nothing to the project that is the user’s as well, in the home folder', async () => {
    cwd = home
    await write(join(home, '.cursor', 'mcp.json'), { mcpServers: { mine: files } })
    await write(join(home, '.claude.json'), { projects: { [home]: { mcpServers: { here: files } } } })
    const { added, leftOut, looked } = await run({ isOfUser: true })
    expect(added).toEqual(['mine'])
    expect(leftOut).toEqual([join(home, '.claude.json')])
    expect(looked).toEqual([...new Set(looked)])
    const all = await run({ isDry: true })
    expect(all.looked).toEqual([...new Set(all.looked)])
  })

  it('keeps existing content and comments, and appends', async () => {
    const mine = '# mine\n[tools]\nregistry_mode = "lazy" # so\n\n[server.files]\ncommand = "own"\n'
    await write(join(cwd, 'toolcrib.toml'), mine)
    await chmod(join(cwd, 'toolcrib.toml'), 0o644)
    await write(join(home, '.cursor', 'mcp.json'), { mcpServers: { files, other: { command: 'own' } } })
    const outcome = await run()
    expect(outcome.files).toMatchObject([
      {
        client: 'cursor',
        servers: [
          { name: 'files', outcome: 'added', as: 'files-cursor' },
          { name: 'other', outcome: 'present', as: 'files' },
        ],
      },
    ])
    const text = await readFile(join(cwd, 'toolcrib.toml'), 'utf8')
    expect(text.startsWith(mine.trimEnd())).toBe(true)
    expect(await written()).toMatchObject({ server: { files: { command: 'own' }, 'files-cursor': files } })
    expect((await stat(join(cwd, 'toolcrib.toml'))).mode & 0o777).toBe(0o644)

    expect(await run()).toMatchObject({ added: [], written: false })
    expect(await readFile(join(cwd, 'toolcrib.toml'), 'utf8')).toBe(text)
  })

  it('writes nothing on a dry run', async () => {
    await write(join(home, '.cursor', 'mcp.json'), { mcpServers: { files } })
    expect(await run({ isDry: true })).toMatchObject({ added: ['files'], written: false })
    await expect(stat(join(cwd, 'toolcrib.toml'))).rejects.toThrow()
  })

  it('skips disabled and invalid servers, and reports them', async () => {
    await write(join(home, '.cursor', 'mcp.json'), {
      mcpServers: { off: { ...files, disabled: true }, 'a,b': files, empty: {}, good: files },
    })
    await write(join(home, '.gemini', 'settings.json'), '{ "mcpServers": ')
    const { added, files: found } = await run()
    expect(added).toEqual(['good'])
    expect(found[0]?.servers.map(({ outcome }) => outcome)).toEqual([
      'disabled',
      'invalid',
      'invalid',
      'added',
    ])
    expect(found[1]).toMatchObject({
      client: 'gemini',
      problem: expect.stringMatching(/^line 1, column \d+: not valid JSON/),
    })
  })

  it('imports lists of tools and variables, and names what it leaves out', async () => {
    await write(join(home, '.gemini', 'settings.json'), {
      mcpServers: { gemini: { ...files, includeTools: ['a'], excludeTools: ['b'], trust: true, timeout: 5 } },
    })
    await write(
      join(home, '.codex', 'config.toml'),
      `[mcp_servers.codex]
      url = "https://x.example"
      env_vars = ["A", { name = "B" }]
      env_http_headers = { "X-Key" = "KEY" }
      http_headers = { "X-Plain" = "1" }
      enabled_tools = ["a"]
      disabled_tools = ["b"]
      tool_timeout_sec = 5`,
    )
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file
    await write(join(home, '.cursor', 'mcp.json'), {
      mcpServers: {
        cursor: {
          command: '${userHome}/${input:my-tool}',
          cwd: '${userHome}',
          envFile: '.env',
          autoApprove: [],
          disabledTools: [],
        },
      },
    })
    const { files: found } = await run()
    const left = found.flatMap(({ servers }) => servers.map(({ name, leftBehind }) => [name, leftBehind]))
    expect(Object.fromEntries(left)).toEqual({
      gemini: ['trust'],
      cursor: ['envFile'],
    })
    expect(await written()).toEqual({
      server: {
        gemini: { ...files, allow: ['a'], deny: ['b'], timeout_ms: 5_000 },
        codex: {
          url: 'https://x.example',
          env: { A: '${A:-}', B: '${B:-}' },
          headers: { 'X-Plain': '1', 'X-Key': '${KEY}' },
          allow: ['a'],
          deny: ['b'],
          timeout_ms: 5_000,
        },
        cursor: { command: '${HOME}/${MY_TOOL}', cwd: '${HOME}' },
      },
    })
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file
  })

  it('says why a file cannot be read, and where', async () => {
    await write(join(home, '.codex', 'config.toml'), 'model = "x"\n[mcp_servers')
    const outcome = await run()
    expect(outcome.files.at(-1)?.problem).toMatch(/^line 2, column 2: .*; correct the file, or/)
  })

  it('makes a new file readable by its owner only, and counts the copied values', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    const env = { TOKEN: 'secret', OTHER: '${OTHER}' }
    await write(join(home, '.cursor', 'mcp.json'), { mcpServers: { files: { ...files, env } } })
    expect(await run()).toMatchObject({ copiedValues: 1 })
    expect((await stat(join(cwd, 'toolcrib.toml'))).mode & 0o777).toBe(0o600)
  })

  it('imports only from the named programs, and lists the known ones', async () => {
    await write(join(home, '.cursor', 'mcp.json'), { mcpServers: { files } })
    await write(join(home, '.gemini', 'settings.json'), { mcpServers: { other: { command: 'x' } } })
    expect((await run({ clients: ['gemini'] })).added).toEqual(['other'])
    await expect(run({ clients: ['emacs'] })).rejects.toThrow(/unknown program "emacs"; use one of .*cursor/)
  })

  it('does not touch an invalid target', async () => {
    await write(join(cwd, 'toolcrib.toml'), '[server')
    await write(join(home, '.cursor', 'mcp.json'), { mcpServers: { files } })
    await expect(run()).rejects.toMatchObject({ code: 'config-invalid' })
    await write(join(cwd, 'toolcrib.toml'), 'server = { a = { command = "x" } }\n')
    await expect(run()).rejects.toThrow(/cannot be written to/)
    expect(await readFile(join(cwd, 'toolcrib.toml'), 'utf8')).toBe('server = { a = { command = "x" } }\n')
  })
})
