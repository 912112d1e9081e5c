import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { appeared, RAIN, useCommandLine } from './cli-folder.fixture.ts'

// Every step starts servers, and some tests take many.
vi.setConfig({ testTimeout: 60_000 })

const { path, toolcrib, toolcribWith, start, write, list, configure, ...servers } = useCommandLine()
const { server, slowServer, silentServer, wasStarted, forgetStart } = servers
const gone = { command: 'no-such-command-anywhere' }

describe('mode flags', () => {
  beforeEach(() => {
    list(RAIN)
    write('toolcrib.toml', `[tools]\nregistry_mode = "full"\n[server.weather]\n${tomlOf(server())}`)
  })

  const deferred = (run: { json(): { deferred: number } }) => run.json().deferred

  it('take precedence over the environment, which takes precedence over the config', async () => {
    expect(deferred(await toolcrib('stats', '--json'))).toBe(0)
    const env = { TOOLCRIB_REGISTRY_MODE: 'lazy' }
    expect(deferred(await toolcribWith(env, 'stats', '--json'))).toBe(1)
    expect(deferred(await toolcribWith(env, 'stats', '--json', '--mode', 'full'))).toBe(0)
    expect(deferred(await toolcrib('stats', '--json', '--mode', 'lazy'))).toBe(1)
    expect(deferred(await toolcrib('stats', '--json', '--mode', 'lazy', '--defer', 'flagged'))).toBe(0)
    const [{ tools }] = (await toolcrib('list', '--json', '--mode', 'lazy')).json().servers
    expect(tools).toMatchObject([{ state: 'deferred' }])
  })

  it('are not reported as a config error when the environment is wrong', async () => {
    const { status, stderr } = await toolcribWith({ TOOLCRIB_REGISTRY_MODE: 'foo' }, 'list')
    expect(status).toBe(2)
    expect(stderr).toMatch(/TOOLCRIB_REGISTRY_MODE .*full.*lazy.*auto/)
    expect(stderr).not.toContain('config,')
    expect(stderr).not.toContain('--config')
  })

  it.each(['list', 'search', 'call', 'stats', 'doctor', 'chat'])(
    'are documented and validated by %s',
    async (command) => {
      const { stdout } = await toolcrib(command, '--help')
      for (const words of [
        '--mode <mode>',
        '"full", "lazy", "auto"',
        '--defer <what>',
        'TOOLCRIB_REGISTRY_MODE',
      ])
        expect(stdout.replace(/\s+/g, ' ')).toContain(words)
      const misused = await toolcrib(command, 'x', '--mode', 'sometimes')
      expect(misused).toMatchObject({ status: 2, stderr: expect.stringContaining('full, lazy, auto') })
    },
  )
})

describe('missing servers', () => {
  const commands = [['list'], ['search', 'rain'], ['stats']]

  it.each(commands)(
    'are reported with their reasons by %s, which continues without them',
    async (...command) => {
      list(RAIN)
      configure({ weather: server(), gone })
      for (const args of [command, [...command, '--json']]) {
        const { status, stdout, stderr } = await toolcrib(...args)
        expect(status).toBe(0)
        expect(stdout).toContain('weather')
        expect(stderr).toMatch(/^note gone is not \w+: it failed(?: before)?: command .*not found.*\n$/)
      }
    },
  )

  it.each(commands)('fail %s when no other servers are configured', async (...command) => {
    configure({ gone, lost: gone })
    for (const args of [command, [...command, '--json']]) {
      const { status, stderr } = await toolcrib(...args)
      expect(status).toBe(1)
      expect(stderr).toMatch(/note gone .*\nnote lost .*\nerror no server responded; .*toolcrib doctor/)
    }
  })

  it('are tried at once after their command was installed', async () => {
    list(RAIN)
    mkdirSync(path('bin'))
    const env = { PATH: `${path('bin')}:${process.env.PATH}` }
    configure({ late: { command: 'late-server' } })
    for (const attempt of ['first', 'second']) {
      const { stderr } = await toolcribWith(env, 'list')
      expect(stderr, attempt).toContain('not found')
      expect(stderr, attempt).not.toContain('not started again')
    }
    const { command, args } = server()
    const words = [command, ...args].map((word) => `'${word}'`).join(' ')
    writeFileSync(path('bin', 'late-server'), `#!/bin/sh\nexec ${words}\n`, { mode: 0o755 })
    expect(await toolcribWith(env, 'list')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('get_rain'),
      stderr: '',
    })
  })

  it('are tried by every command, although they failed a moment ago', async () => {
    list(RAIN)
    const { command, args } = server()
    const [file, ...rest] = args
    configure({ late: { command, args: [path('late.mjs'), ...rest] } })
    await toolcrib('list')
    const failed = await toolcrib('call', 'late.get_rain', '{"city": "Oslo"}')
    expect(failed.stderr).toContain('server "late" failed: ')
    expect(failed.stderr).not.toContain('not started again')
    write('late.mjs', `await import(${JSON.stringify(file)})`)
    expect(await toolcrib('list')).toMatchObject({ status: 0, stderr: '' })
    expect(await toolcrib('call', 'late.get_rain', '{"city": "Oslo"}')).toMatchObject({ status: 0 })
  })

  it('do not delay a command beyond their time limit', async () => {
    configure({ stuck: silentServer() })
    const { status, stderr } = await toolcrib('search', 'rain', '--timeout', '300')
    expect(status).toBe(1)
    expect(stderr).toMatch(/note stuck is not searched: /)
  })

  it('are not an error when none is configured, and the next step is named', async () => {
    configure({})
    for (const command of commands)
      expect(await toolcrib(...command)).toMatchObject({
        status: 0,
        stderr: expect.stringContaining('run "toolcrib" to set them up'),
      })
  })
})

describe('a slow call', () => {
  beforeEach(() => configure({ slow: slowServer() }))

  it('times out after its limit, and leaves stdout empty', async () => {
    const [text, json] = await Promise.all([
      toolcrib('call', 'slow.wait', '--timeout', '1500'),
      toolcrib('call', 'slow.wait', '--timeout', '1500', '--json'),
    ])
    const { status, stdout, stderr } = text
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(
      /^error "slow\.wait" did not respond within 1500 ms.*\nincrease the limit with --timeout/,
    )
    expect(json.json().result).toMatchObject({ ok: false, code: 'timeout' })
  })

  it.each([
    [[], ''],
    [['--json'], { error: { code: 'cancelled', message: 'ended by SIGINT' } }],
  ])('is cancelled on its server by Ctrl-C %j', async (flags, said) => {
    const { child, ended } = start(['call', 'slow.wait', ...flags])
    await appeared(path('calls.txt'))
    child.kill('SIGINT')
    const { status, stdout, stderr } = await ended
    expect({ status, stderr }).toEqual({ status: 130, stderr: 'cancelled ended by SIGINT\n' })
    expect(stdout === '' ? '' : JSON.parse(stdout)).toEqual(said)
    expect(readFileSync(path('calls.txt'), 'utf8')).toBe('called\ncancelled\n')
  })
})

describe('a lockfile by name', () => {
  beforeEach(() => {
    list(RAIN)
    configure({ weather: server() })
  })

  it.each([
    ['list'],
    ['search', 'rain'],
    ['stats'],
    ['call', 'get_rain'],
    ['doctor'],
    ['diff'],
    ['approve', '--all'],
    ['chat', '--prompt', 'hello', '--provider', 'anthropic', '--model', 'm'],
  ])('must exist for %s', async (...command) => {
    const { status, stderr } = await toolcribWith(
      { ANTHROPIC_API_KEY: 'key' },
      ...command,
      '--lockfile',
      'typo.lock',
    )
    expect(status).toBe(2)
    expect(stderr).toMatch(/lockfile typo\.lock does not exist; .*toolcrib lock --lockfile typo\.lock/)
    expect(wasStarted()).toBe(false)
  })

  it.each([
    ['list'],
    ['search', 'rain'],
    ['stats'],
    ['call', 'get_rain'],
    ['chat', '--prompt', 'hello', '--provider', 'anthropic', '--model', 'm'],
  ])('must exist for %s with --locked', async (...command) => {
    const env = { ANTHROPIC_API_KEY: 'key' }
    const { status, stderr } = await toolcribWith(env, ...command, '--locked')
    expect(status).toBe(2)
    expect(stderr).toMatch(/\S+toolcrib\.lock for weather does not exist, but --locked .*"toolcrib lock"/)
    expect(wasStarted()).toBe(false)
  })

  it('must exist for doctor when the config requires it', async () => {
    write('toolcrib.toml', `require_lock = true\n[server.weather]\n${tomlOf(server())}`)
    const { nextSteps, problem, lockfile } = (await toolcrib('doctor', '--json')).json()
    expect(problem).toContain('"toolcrib lock"')
    expect(lockfile.state).toBe('none')
    expect(nextSteps).toEqual([expect.stringContaining('approve them with "toolcrib lock"')])
    const named = (await toolcrib('doctor', '--json', '--config', 'toolcrib.toml')).json()
    expect(named.nextSteps).toEqual([expect.stringContaining('"toolcrib lock --config toolcrib.toml"')])
    expect(wasStarted()).toBe(false)
    expect((await toolcrib('diff')).status).toBe(2)
    expect((await toolcrib('lock')).status).toBe(0)
    expect((await toolcrib('doctor')).status).toBe(0)
  })

  it('is reported as missing when it existed before', async () => {
    await toolcrib('lock')
    await toolcrib('list')
    rmSync(path('toolcrib.lock'))
    expect((await toolcrib('list')).stderr).toMatch(/^note .*toolcrib\.lock/)
    expect((await toolcrib('doctor', '--json')).json().warnings).toEqual([
      expect.stringContaining('toolcrib.lock'),
    ])
  })

  it('must exist for doctor with --locked, which reports it', async () => {
    const { status, stdout } = await toolcrib('doctor', '--locked')
    expect(status).toBe(1)
    expect(stdout).toMatch(/Lockfile\n.*\S+toolcrib\.lock for weather does not exist/)
    expect(wasStarted()).toBe(false)
    await toolcrib('lock')
    expect((await toolcrib('doctor', '--locked')).status).toBe(0)
    expect((await toolcrib('list', '--locked')).status).toBe(0)
  })

  it('is written by lock', async () => {
    expect((await toolcrib('lock', '--lockfile', 'new.lock')).status).toBe(0)
    expect((await toolcrib('list', '--lockfile', 'new.lock')).status).toBe(0)
  })
})

describe('lock', () => {
  it('writes nothing when no server responds', async () => {
    configure({ gone })
    const refused = await toolcrib('lock')
    expect(refused.status).toBe(1)
    expect(refused.stderr).toMatch(
      /no server responded, so nothing was written to .*; .*toolcrib doctor[\s\S]*gone: .*not found/,
    )
    expect(existsSync(path('toolcrib.lock'))).toBe(false)
    configure({})
    expect(await toolcrib('lock')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('nothing to lock'),
    })
    expect(existsSync(path('toolcrib.lock'))).toBe(false)
  })

  it('keeps the approval of servers that do not respond, and says so', async () => {
    list(RAIN)
    configure({ weather: server(), other: server('--quiet') })
    expect((await toolcrib('lock')).status).toBe(0)
    const approved = () => JSON.parse(readFileSync(path('toolcrib.lock'), 'utf8')).servers
    const before = approved()
    configure({ weather: server(), other: gone, never: gone })
    const { status, stderr } = await toolcrib('lock')
    expect(status).toBe(1)
    expect(stderr).toMatch(/failed other: .*; its earlier approval is kept\n/)
    expect(stderr).toMatch(/failed never: .*; it is not in the lockfile\n/)
    expect(approved()).toEqual(before)
    expect((await toolcrib('lock', '--json')).json().failed).toMatchObject([
      { server: 'other', kept: true },
      { server: 'never', kept: false },
    ])
  })
})

describe('import --to', () => {
  const imported = { weather: { command: 'weather-server', args: ['--fast'] } }
  beforeEach(() => {
    mkdirSync(path('home', '.cursor'))
    writeFileSync(path('home', '.cursor', 'mcp.json'), JSON.stringify({ mcpServers: imported }))
  })

  it('writes JSON to a .json file, as the other commands read it', async () => {
    expect((await toolcrib('import', '--to', 'out.json')).status).toBe(0)
    expect(JSON.parse(readFileSync(path('out.json'), 'utf8'))).toEqual({ mcpServers: imported })
    const listed = await toolcrib('list', '--config', 'out.json', '--json')
    expect(listed.json().servers).toMatchObject([{ server: 'weather' }])
  })

  it('rejects a file that is neither', async () => {
    expect(await toolcrib('import', '--to', 'out.yaml')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('neither .toml nor .json'),
    })
    expect(existsSync(path('out.yaml'))).toBe(false)
  })

  it('adds to the existing content, and says so', async () => {
    write('out.json', '{\n  // mine\n  "mcpServers": { "own": { "command": "x" } }\n}\n')
    const { stdout } = await toolcrib('import', '--to', 'out.json')
    expect(stdout).toContain(`added 1 server to ${path('out.json')}, beside the 1 already there`)
    const text = readFileSync(path('out.json'), 'utf8')
    expect(text).toContain('// mine')
    expect(JSON.parse(text.replace('// mine', ''))).toEqual({
      mcpServers: { own: { command: 'x' }, ...imported },
    })
    expect((await toolcrib('import', '--to', 'out.json', '--json')).json()).toMatchObject({
      added: [],
      kept: ['own', 'weather'],
      written: false,
    })
  })

  it('overwrites a file only with --force', async () => {
    write('out.json', '{ "mcpServers": ')
    const refused = await toolcrib('import', '--to', 'out.json')
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('--force') })
    expect(readFileSync(path('out.json'), 'utf8')).toBe('{ "mcpServers": ')
    const forced = await toolcrib('import', '--to', 'out.json', '--force')
    expect(forced).toMatchObject({ status: 0, stdout: expect.stringContaining('replacing the file') })
    expect(JSON.parse(readFileSync(path('out.json'), 'utf8'))).toEqual({ mcpServers: imported })
  })
})

describe('--json', () => {
  const usage = { code: 'usage-invalid', message: expect.stringContaining('--no-such-flag') }

  it.each([
    ['list'],
    ['search', 'rain'],
    ['stats'],
    ['call', 'get_rain'],
    ['lock'],
    ['diff'],
    ['approve', '--all'],
    ['import', 'emacs'],
    ['eval', '--tools', 'none.jsonl', '--queries', 'none.jsonl'],
    ['chat', '--prompt', 'hello'],
  ])('reports an error of %s as JSON, with the same exit code', async (...command) => {
    const { status, stdout, stderr } = await toolcrib(...command, '--json')
    // No config makes an unknown program a known one.
    const code = command[0] === 'import' ? 'usage-invalid' : 'config-invalid'
    const { error } = JSON.parse(stdout)
    expect(error).toEqual({ code, message: expect.any(String) })
    // A person reads the same message, without the code.
    expect(stderr.replace(/\s+/g, ' ').trim()).toBe(`error ${error.message.replace(/\s+/g, ' ')}`)
    expect(await toolcrib(...command)).toMatchObject({ status, stdout: '', stderr })
  })

  it.each(['list', 'tour', 'doctor', 'import', 'chat'])(
    'reports wrong usage of %s as JSON',
    async (command) => {
      const { status, stdout } = await toolcrib(command, '--no-such-flag', '--json')
      expect(status).toBe(2)
      expect(JSON.parse(stdout)).toEqual({ error: { ...usage, hint: `see "toolcrib ${command} --help"` } })
    },
  )

  it('reports an invalid query as JSON, and where the language is explained', async () => {
    const { error } = (await toolcrib('search', '+', '--json')).json()
    expect(error).toMatchObject({ code: 'query-invalid', hint: 'see "toolcrib search --help"' })
  })

  it('of doctor is its report, even with problems', async () => {
    expect(await toolcrib('doctor', '--json')).toMatchObject({ status: 1 })
    expect((await toolcrib('doctor', '--json')).json()).toMatchObject({ healthy: false, files: [] })
  })
})

describe('cached tools', () => {
  beforeEach(() => {
    list(RAIN)
    configure({ weather: { ...server(), start: 'eager' } })
  })
  const commands = [['list'], ['search', 'rain'], ['stats']]
  /** Ends the time of everything that is kept: the name of a value's head says when it expires. */
  const expireAll = async () => {
    const store = path('home', '.cache', 'toolcrib', 'store')
    const heads = (await readdir(store, { recursive: true })).filter((name) => /head\.[^/]*$/.test(name))
    expect(heads).not.toEqual([])
    for (const head of heads) renameSync(join(store, head), join(store, head.replace(/\.\d{13}\./, '.1.')))
  }

  it('are used, so that no server is started again', async () => {
    expect((await toolcrib('search', 'rain')).stdout).toContain('weather.get_rain')
    expect(wasStarted()).toBe(true)
    forgetStart()
    for (const command of commands) expect((await toolcrib(...command)).status).toBe(0)
    expect((await toolcrib('search', 'rain', '--json')).json().matches).toMatchObject([
      { name: 'mcp__weather__get_rain' },
    ])
    expect(wasStarted()).toBe(false)
  })

  it.each(commands)('are refreshed by %s with --refresh', async (...command) => {
    await toolcrib('list')
    forgetStart()
    await toolcrib(...command, '--refresh')
    expect(wasStarted()).toBe(true)
  })

  it('are refreshed when the config of the server changes, or after a day', async () => {
    await toolcrib('list')
    forgetStart()
    configure({ weather: server('--quiet') })
    await toolcrib('list')
    expect(wasStarted()).toBe(true)
    forgetStart()
    await toolcrib('list')
    expect(wasStarted()).toBe(false)
    await expireAll()
    await toolcrib('list')
    expect(wasStarted()).toBe(true)
  })

  it('tell call which server to start, so that it waits for no other', async () => {
    await toolcrib('list')
    forgetStart()
    configure({ weather: { ...server(), start: 'eager' }, silent: silentServer() })
    expect(await toolcrib('call', 'get_rain', '-')).toMatchObject({ status: 0, stdout: 'get_rain ran\n' })
    // What is not among them is asked for once more.
    configure({ weather: { ...server(), start: 'eager' } })
    list(RAIN, { ...RAIN, name: 'get_snow' })
    expect(await toolcrib('call', 'weather__get_snow', '-')).toMatchObject({ status: 0 })
  })

  it.each([['doctor'], ['lock'], ['diff'], ['approve', '--all', '--yes']])(
    'are not used by %s, which updates them for the others',
    async (...command) => {
      await toolcrib('lock')
      await toolcrib('list')
      list(RAIN, { ...RAIN, name: 'get_snow' })
      forgetStart()
      await toolcrib(...command)
      expect(wasStarted()).toBe(true)
      expect((await toolcrib('list', '--json')).json().tools).toBe(2)
    },
  )
})

function tomlOf({ command, args }: { command: string; args: readonly string[] }): string {
  return `command = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`
}
