import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../command-line.ts'
import { socketPath } from '../gateway/runtime-folder.ts'
import { ControlSocket } from '../serve/control-socket.ts'
import { LogBook } from '../serve/log-book.ts'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import type { TerminalOptions } from '../terminal/terminal.ts'

let home = ''
let cwd = ''
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-home-')))
  cwd = join(home, 'project')
  mkdirSync(cwd)
})
afterEach(() => rmSync(home, { recursive: true }))

const program = { name: 'node dist/cli/main.js', command: '/bin/node', args: ['/x/dist/cli/main.js'] }
const files = { command: 'npx', args: ['-y', 'files'] }

async function toolcrib(args: readonly string[], more: Partial<TerminalOptions> = {}) {
  const { terminal, stdout, stderr } = fakeTerminal({ env: { HOME: home }, cwd, program, ...more })
  const status = await runCommandLine(args, terminal)
  return { status, stdout: stdout(), stderr: stderr(), json: () => JSON.parse(stdout()) }
}

function write(path: string, content: string | object): string {
  const whole = join(home, path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, typeof content === 'string' ? content : JSON.stringify(content))
  return whole
}
const read = (path: string) => readFileSync(join(home, path), 'utf8')

describe('connect and disconnect', () => {
  const before = '{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "files"] } } } // mine\n'

  it('show the diff, write with --yes, and put everything back', async () => {
    write('.cursor/mcp.json', before)
    const there = await toolcrib(['connect'])
    expect(there.stdout).toMatch(/cursor +Cursor +1 server\n/)
    expect(there.stdout).toContain('"node dist/cli/main.js connect --all"')
    await toolcrib(['import', '--user'])

    const asked = await toolcrib(['connect', 'cursor'])
    expect(asked).toMatchObject({ status: 1, stdout: expect.stringContaining('use --yes to write it') })
    expect(asked.stdout).toMatch(/^ {2}\+ +"command": "\/bin\/node",$/m)
    expect(read('.cursor/mcp.json')).toBe(before)

    const done = await toolcrib(['connect', '--all', '--yes'])
    expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining('takes over: files') })
    expect(done.stdout).toContain('undo with "node dist/cli/main.js disconnect cursor"')
    const config = join(home, '.config', 'toolcrib', 'toolcrib.toml')
    expect(JSON.parse(read('.cursor/mcp.json').replace('// mine', ''))).toEqual({
      mcpServers: {
        toolcrib: { command: '/bin/node', args: [...program.args, 'serve', '--stdio', '--config', config] },
      },
    })
    expect((await toolcrib(['connect', 'cursor'])).stdout).toContain('is connected already')
    expect((await toolcrib(['connect'])).stdout).toContain('all of them use the gateway; undo with')

    const back = await toolcrib(['disconnect', 'cursor'])
    expect(back).toMatchObject({ status: 0, stdout: expect.stringContaining('what it was before') })
    expect(read('.cursor/mcp.json')).toBe(before)
    expect((await toolcrib(['disconnect', 'cursor', '--yes'])).status).toBe(1)
  })

  it('say why a server with the name of another one stays', async () => {
    write('.cursor/mcp.json', { mcpServers: { files: { command: 'my-files' }, own: { command: 'x' } } })
    const config = write('gateway.toml', '[server.files]\ncommand = "npx"\n')
    const { stdout } = await toolcrib(['connect', 'cursor', '--dry-run', '--config', config])
    expect(stdout).toContain('stays as it is: files (the config has another server of that name')
    expect(stdout).toContain('stay as they are: own (not in the config')
  })

  it('name the known clients where none is found', async () => {
    const { stdout } = await toolcrib(['connect'])
    expect(stdout).toMatch(/^no client .*\n.*"node dist\/cli\/main\.js connect <client>".*\n.*cursor, /)
    expect(stdout).not.toContain('--all')
  })

  it('connect over HTTP with the token that serve reads', async () => {
    write('.config/toolcrib/toolcrib.toml', '[server.a]\ncommand = "x"\n')
    const { json, status } = await toolcrib(['connect', 'gemini', '--http', '--yes', '--json'])
    expect(status).toBe(0)
    const token = read('.config/toolcrib/token').trim()
    expect(JSON.parse(read('.gemini/settings.json'))).toEqual({
      mcpServers: {
        toolcrib: {
          httpUrl: 'http://127.0.0.1:7117/mcp',
          headers: { Authorization: `Bearer ${token}` },
        },
      },
    })
    const [{ changed, written, diff }] = json().clients
    expect({ changed, written }).toEqual({ changed: true, written: true })
    expect(diff.join('\n')).not.toContain(token)
    const listed = await toolcrib(['connect', '--json'])
    expect(listed.json().clients).toContainEqual(
      expect.objectContaining({ client: 'gemini', isConnected: true }),
    )
    expect(listed.stdout).not.toContain(token)
  })

  it('connect all that can be, and name the others', async () => {
    write('.cursor/mcp.json', before)
    write('.gemini/settings.json', '{ broken')
    await toolcrib(['import', 'cursor', '--user'])
    const { status, stdout, stderr } = await toolcrib(['connect', '--all', '--yes'])
    expect(status).toBe(1)
    expect(stdout).toContain('connected Cursor; restart it')
    expect(stderr).toMatch(
      /^note gemini is left as it is: .*settings\.json: line 1, column 3: not valid JSON/,
    )
    expect((await toolcrib(['connect', 'gemini', '--yes'])).status).toBe(2)
  })

  it('say where the old config is when the one there cannot be read', async () => {
    const path = write('.cursor/mcp.json', { mcpServers: { files } })
    await toolcrib(['import', '--user'])
    await toolcrib(['connect', 'cursor', '--yes'])
    writeFileSync(path, '{ broken')
    const { status, stderr } = await toolcrib(['disconnect', 'cursor'])
    expect(status).toBe(2)
    const before = /or copy (\S+\.before) over it/.exec(stderr)?.[1] ?? ''
    expect(JSON.parse(readFileSync(before, 'utf8'))).toEqual({ mcpServers: { files } })
  })

  it('name what is wrong', async () => {
    expect((await toolcrib(['connect', 'cursor'])).stderr).toContain('no config found')
    write('.config/toolcrib/toolcrib.toml', '[server.a]\ncommand = "x"\n')
    expect((await toolcrib(['connect', 'curser'])).stderr).toContain('did you mean "cursor"?')
    expect((await toolcrib(['disconnect'])).stderr).toContain('none is connected')
  })
})

describe('errors and help', () => {
  it('say what there is to take, in the steps without a terminal', async () => {
    expect((await toolcrib([])).stdout).toContain(
      'copies the servers of your programs; it finds no new ones\n',
    )
    write('.cursor/mcp.json', { mcpServers: { files } })
    expect((await toolcrib([])).stdout).toContain('copies 1 new server of 1 program\n')
    await toolcrib(['import', '--user'])
    expect((await toolcrib([])).stdout).toContain('it finds no new ones; your config has 1 server already\n')
  })

  it('spell the program as it was started, with the config', async () => {
    const help = await toolcrib(['list', '--help'])
    expect(help.stdout).toMatch(/^Usage: node dist\/cli\/main\.js list /)
    expect(help.stdout).toContain('\n  node dist/cli/main.js list files memory')
    expect(help.stdout).not.toMatch(/^ *toolcrib /m)
    const usage = await toolcrib(['list', '--nope'])
    expect(usage.stderr).toContain('see "node dist/cli/main.js list --help"')
    const config = write('gateway.toml', '[server.files]\ncommand = "npx"\n')
    const status = await toolcrib(['status', '--config', config, '--json'])
    expect(status.json().error.message).toContain(`"node dist/cli/main.js serve --config ${config}"`)
    const stop = await toolcrib(['stop', '--config', config])
    expect(stop).toMatchObject({ status: 1, stderr: expect.stringContaining('there is nothing to stop') })
    expect(stop.stderr).not.toContain('serve')
  })

  it('name the next step for a missing or broken config, and for arguments that are not JSON', async () => {
    const missing = await toolcrib(['list', '--config', '/nope.toml'])
    expect(missing.stderr).toContain('correct the path, or write the file with "node dist/cli/main.js add')
    const toml = write('broken.toml', '[server.a]\ncommand = = "x"\n')
    expect((await toolcrib(['list', '--config', toml])).stderr).toMatch(
      /broken\.toml:2:\d+: .*; correct the TOML there/,
    )
    const json = write('broken.json', '{\n  "mcpServers": { oops }\n}\n')
    expect((await toolcrib(['list', '--config', json])).stderr).toMatch(
      /broken\.json:2:19: .*; correct the JSON there/,
    )
    const call = await toolcrib(['call', 'echo', '{bad'])
    expect(call.stderr).toContain(`write them as key=value, or as '{"key": "value"}'`)
  })

  it('hint at "add" with what it needs', async () => {
    const hint = 'add one with "node dist/cli/main.js add <name> -- <command>"'
    expect((await toolcrib(['doctor'])).stdout).toContain('set it up with "node dist/cli/main.js"')
    write('project/toolcrib.toml', '')
    expect((await toolcrib(['list', 'x'])).stderr).toContain(`no server is configured; ${hint}`)
  })

  it('name the running gateway of another config where there is none here', async () => {
    const config = write('gateway.toml', '')
    const env = { HOME: home }
    const socket = await ControlSocket.open(socketPath([config], env), {
      logs: new LogBook(),
      status: () => ({ pid: 1, files: [config] }),
      serveStream: async () => {},
      approvals: {} as never,
      describeServer: async () => ({}),
      serveServer: async () => {},
      reload: async () => {},
      restart: async (server) => ({ server, state: 'ready', tools: 0 }),
      keep: () => {},
      stop: () => {},
    })
    const list = await toolcrib(['list'])
    const folder = dirname(socketPath([config], env))
    chmodSync(folder, 0o755)
    const open = await toolcrib(['list'])
    await socket?.close()
    expect(open.stderr).not.toContain('is running')
    expect(list.stderr).toContain(`a gateway of ${config} is running; add --config ${config}`)
    expect((await toolcrib(['list'])).stderr).toContain('no config found (looked for')
  })
})

describe('add, remove, enable and disable', () => {
  it('change the config of the project, and keep its comments', async () => {
    const args = ['add', 'files', '--env', 'A=1', '--', 'npx', '-y', 'files']
    expect((await toolcrib(args)).stdout).toMatch(
      /^added files to .*project\/toolcrib\.toml; check with "node/,
    )
    const text = '# mine\n[server.files]\ncommand = "npx" # always\n'
    write('project/toolcrib.toml', text)
    expect((await toolcrib(args)).stderr).toContain('replace it with --force')
    const dry = await toolcrib(['disable', 'files', '--dry-run'])
    expect(dry.stdout).toContain('+ disabled = true')
    expect(read('project/toolcrib.toml')).toBe(text)
    await toolcrib(['disable', 'files'])
    expect(read('project/toolcrib.toml')).toContain('disabled = true\ncommand = "npx" # always\n')
    await toolcrib(['enable', 'files'])
    expect(read('project/toolcrib.toml')).toBe(text)
    expect((await toolcrib(['enable', 'files'])).stdout).toBe('files is enabled already\n')
    await toolcrib(['add', 'far', '--url', 'https://x.example', '--header', 'A=b'])
    await toolcrib(['remove', 'files'])
    expect(read('project/toolcrib.toml')).toBe(
      '[server.far]\nurl = "https://x.example"\n\n[server.far.headers]\nA = "b"\n',
    )
  })

  it('find the file that has the server, and leave all files alone when one is unknown', async () => {
    write('.config/toolcrib/toolcrib.toml', '[server.own]\ncommand = "x"\n')
    write('project/.mcp.json', { mcpServers: { files } })
    const unknown = await toolcrib(['disable', 'own', 'nobody'])
    expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('unknown server "nobody"') })
    expect((await toolcrib(['disable', 'fles'])).stderr).toContain('did you mean "files"?')
    expect(read('.config/toolcrib/toolcrib.toml')).not.toContain('disabled')
    expect((await toolcrib(['disable', 'own', 'files', '--json'])).json().files).toHaveLength(2)
    expect(JSON.parse(read('project/.mcp.json')).mcpServers.files.disabled).toBe(true)
    expect((await toolcrib(['add', 'x'])).stderr).toContain('after --, or its --url')
  })
})

describe('commands with nothing to do', () => {
  it('say so, or name the flag that was meant', async () => {
    const undone = await toolcrib(['disconnect', '--all'])
    expect(undone).toMatchObject({ status: 0, stdout: expect.stringContaining('no client is connected') })
    for (const [word, step] of [
      ['export', 'export with "node dist/cli/main.js memory --json"'],
      ['forget', 'forget with --forget-tool, --forget-server or --forget-all'],
    ] as const)
      expect(await toolcrib(['memory', word])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(step),
      })
  })
})

describe('add', () => {
  it('refuses a server that could not be used', async () => {
    for (const [args, words] of [
      [['u', '--url', 'notaurl'], '--url must be an http or https address, not "notaurl"'],
      [['bad name!', '--', 'node', 'x'], 'the name "bad name!" cannot be used: '],
    ] as const)
      expect(await toolcrib(['add', ...args])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(words),
      })
    expect(existsSync(join(cwd, 'toolcrib.toml'))).toBe(false)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
    expect((await toolcrib(['add', 'later', '--url', '${LATER_URL}'])).status).toBe(0)
  })

  it('says that a lockfile asks for an approval', async () => {
    expect((await toolcrib(['add', 'one', '--', 'node', 'x'])).stdout).not.toContain('approve')
    write('project/toolcrib.lock', { version: 1, servers: {} })
    expect((await toolcrib(['add', 'two', '--', 'node', 'x'])).stdout).toContain(
      'there is a lockfile: approve the server with "node dist/cli/main.js approve two"',
    )
  })
})

describe('import', () => {
  it('succeeds only if every file found could be read', async () => {
    expect((await toolcrib(['import'])).status).toBe(1)
    write('.cursor/mcp.json', { mcpServers: { files } })
    expect((await toolcrib(['import'])).status).toBe(0)
    write('.codex/config.toml', 'model = "x"\n[mcp_servers')
    expect((await toolcrib(['import'])).status).toBe(1)
  })

  it('finds nothing to import from programs that use the gateway, and says where their servers are', async () => {
    write('.cursor/mcp.json', { mcpServers: { files } })
    await toolcrib(['import', '--user'])
    await toolcrib(['connect', 'cursor', '--yes'])
    const { status, stdout } = await toolcrib(['import'])
    expect(status).toBe(0)
    const config = join(home, '.config', 'toolcrib', 'toolcrib.toml')
    expect(stdout).toContain(`nothing to import: Cursor uses the gateway (${config})`)
    expect(await toolcrib(['import', '--json'])).toMatchObject({ status: 0 })
    expect(stdout).not.toContain('no servers were found')
  })

  it('counts the secrets it copies, and no other values', async () => {
    const headers = { Authorization: 'Bearer sk-live-0123456789abcdef' }
    write('.cursor/mcp.json', {
      mcpServers: {
        notes: { ...files, env: { NOTES_FILE: '/home/me/notes.json' } },
        far: { url: 'https://far.example/mcp', headers },
      },
    })
    expect((await toolcrib(['import'])).stdout).toContain('\n1 secret in a variable or header was copied: ')
  })

  it('writes no secret into a git repository without a yes', async () => {
    mkdirSync(join(cwd, '.git'))
    write('.cursor/mcp.json', {
      mcpServers: {
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config, not of this file
        a: { command: 'x', args: ['--api-key', 'k-1234567890abcdef'], env: { OTHER: '${TAVILY_KEY}' } },
      },
    })
    const refused = await toolcrib(['import'])
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('import with --user') })
    expect(existsSync(join(cwd, 'toolcrib.toml'))).toBe(false)
    rmSync(join(cwd, '.git'), { recursive: true })
    execFileSync('git', ['init', '-q', cwd])
    writeFileSync(join(cwd, '.gitignore'), 'toolcrib.toml\n')
    expect((await toolcrib(['import', '--json'])).json().written).toBe(true)
    rmSync(join(cwd, '.gitignore'))
    rmSync(join(cwd, 'toolcrib.toml'))
    expect((await toolcrib(['import'])).status).toBe(2)
    expect((await toolcrib(['import', '--user'])).stdout).toMatch(
      /set TAVILY_KEY, which a needs\n1 secret in an argument or URL was copied/,
    )
    // What the user's config has need not be in the project's.
    expect((await toolcrib(['import', '--yes'])).stdout).toContain('a is already there')
    rmSync(join(home, '.config'), { recursive: true })
    expect((await toolcrib(['import', '--yes'])).status).toBe(0)
    expect(existsSync(join(cwd, 'toolcrib.toml'))).toBe(true)
  })
})
