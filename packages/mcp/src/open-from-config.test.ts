import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { memoryStore } from '@toolcrib/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ServerConfig } from './config/server-config.ts'
import type { OpenConnection } from './connection/connect.ts'
import { findConfig } from './find-config.ts'
import { approveChanges, changeMatcher } from './lock/approve.ts'
import { compareWithLock } from './lock/compare.ts'
import { writeLocks } from './lock/lock-layers.ts'
import { lockServers } from './lock/lockfile.ts'
import { writeLockfile } from './lock/lockfile-file.ts'
import { type OpenFromConfigOptions, observeServers, openFromConfig } from './open-from-config.ts'
import { World } from './server/fake-world.fixture.ts'

const ECHO = { name: 'echo', description: '', inputSchema: { type: 'object' } } as const
const DAY_MS = 24 * 60 * 60 * 1000
const CONFIG = '[server.a]\ncommand = "x"\n'

describe('openFromConfig', () => {
  let cwd: string
  let env: Record<string, string>
  let world: World

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'toolcrib-open-'))
    env = { HOME: join(cwd, 'home') }
    world = new World({})
  })
  afterEach(() => rm(cwd, { recursive: true }))

  const write = (text: string, name = 'toolcrib.toml') => writeFile(join(cwd, name), text)

  function open(options: OpenFromConfigOptions = {}) {
    const { onEvent: _, ...connect } = world.options
    return openFromConfig({ cwd, env, connect, ...options })
  }

  it('returns before servers are connected', async () => {
    await write(CONFIG)
    let letGo = () => {}
    world.opening = new Promise((resolve) => {
      letGo = resolve
    })
    const opened = await open()
    expect(opened.servers.status()).toEqual([{ server: 'a', state: 'connecting' }])
    letGo()
    expect(await opened.servers.ready()).toMatchObject([{ server: 'a', state: 'ready' }])
    expect(opened.registry.has('mcp__a__echo')).toBe(true)
    await opened.close()
    expect(world.isConnected).toBe(false)
    expect(opened.registry.has('mcp__a__echo')).toBe(false)
  })

  it('finds mcp.toml', async () => {
    await write(CONFIG, 'mcp.toml')
    const opened = await open()
    expect(opened.config.files).toEqual([join(cwd, 'mcp.toml')])
    expect(opened.servers.status().map(({ server }) => server)).toEqual(['a'])
    await opened.close()
  })

  it('connects only the selected servers', async () => {
    await write(`${CONFIG}[server.b]\ncommand = "y"\n`)
    const opened = await open({ servers: (name) => name === 'b' })
    expect(opened.servers.status().map(({ server }) => server)).toEqual(['b'])
    expect(Object.keys(opened.config.servers)).toEqual(['a', 'b'])
    await opened.close()
  })

  it('searches by words and meaning, unless config or caller chooses another searcher', async () => {
    await write(CONFIG)
    const searcherOf = async (options?: OpenFromConfigOptions) => {
      const { registry, close } = await open({ servers: () => false, ...options })
      await close()
      return registry.searcher.name
    }
    expect(await searcherOf()).toBe('hybrid')
    expect(await searcherOf({ overrides: { searcher: 'weighted' } })).toBe('weighted')
    await write(`[tools]\nsearcher = "lexical"\n${CONFIG}`)
    expect(await searcherOf()).toBe('lexical')
    expect(await searcherOf({ registry: { searcher: 'regex' } })).toBe('regex')
  })

  it('enforces the lockfile, unless disabled', async () => {
    await write(CONFIG)
    const other = lockServers(new Map([['a', { config: { command: 'other' }, tools: [ECHO] }]]))
    await writeLockfile(join(cwd, 'toolcrib.lock'), other)
    const held = await open()
    expect(await held.servers.ready()).toMatchObject([{ state: 'failed' }])
    expect(held.lockPath).toBe(join(cwd, 'toolcrib.lock'))
    await held.close()
    expect(world.opened).toBe(0)
    const free = await open({ locked: false })
    expect(await free.servers.ready()).toMatchObject([{ state: 'ready' }])
    await free.close()
  })

  it('caches catalogues in the user cache folder', async () => {
    await write(CONFIG)
    const first = await open()
    await first.servers.ready()
    await first.close()
    const folder = join(cwd, 'home', '.cache', 'toolcrib', 'store')
    expect(await readdir(folder)).not.toEqual([])
    const second = await open()
    expect(await second.servers.ready()).toMatchObject([{ state: 'cold' }])
    expect(second.registry.has('mcp__a__echo')).toBe(true)
    await second.close()
    expect(world.opened).toBe(1)
  })

  it('starts an eager server that is cached, unless `remembered` is true', async () => {
    await write(`${CONFIG}start = "eager"\n`)
    const start = async (remembered?: boolean) => {
      const before = world.opened
      const opened = await open(remembered === undefined ? {} : { remembered })
      await opened.servers.ready()
      await opened.close()
      return world.opened - before
    }
    expect(await start()).toBe(1)
    expect(await start()).toBe(1)
    expect(await start(true)).toBe(0)
    expect(await start(false)).toBe(1)
  })

  it('keeps what it learns in the store that it is given, or nowhere', async () => {
    await write(CONFIG)
    let now = 0
    const store = memoryStore({ clock: () => now })
    const stateWith = async (options: OpenFromConfigOptions) => {
      const opened = await open(options)
      const [status] = await opened.servers.ready()
      await opened.close()
      return status?.state
    }
    expect(await stateWith({ store })).toBe('ready')
    now = DAY_MS - 1
    expect(await stateWith({ store })).toBe('cold')
    now = DAY_MS
    expect(await stateWith({ store })).toBe('ready')
    expect(await stateWith({ store: false })).toBe('ready')
    expect(await stateWith({ store: false })).toBe('ready')
    await expect(readdir(join(cwd, 'home'))).rejects.toThrow('ENOENT')
  })

  it('applies timeoutMs to every server', async () => {
    await write(`${CONFIG}timeout_ms = 5\n`)
    const asked: ServerConfig[] = []
    const record: OpenConnection = async ({ config }) => {
      asked.push(config)
      throw new Error('not today')
    }
    const { onEvent: _, ...connect } = world.options
    const opened = await open({ timeoutMs: 40, connect: { ...connect, open: record } })
    await opened.servers.ready()
    expect(asked).toMatchObject([{ command: 'x', timeoutMs: 40, connectTimeoutMs: 40 }])
    await opened.close()
    await expect(open({ timeoutMs: Number.NaN })).rejects.toThrow('timeoutMs')
    await expect(open({ timeoutMs: 0 })).rejects.toMatchObject({ code: 'config-invalid' })
  })

  it('reports server events from the start', async () => {
    await write(CONFIG)
    const states: string[] = []
    const opened = await open({
      onEvent: (event) => {
        if (event.type === 'server-state') states.push(event.state)
      },
    })
    await opened.servers.ready()
    expect(states.at(0)).toBe('connecting')
    expect(states.at(-1)).toBe('ready')
    await opened.close()
  })

  it('fails a server whose table is invalid, and connects the others', async () => {
    await write(`${CONFIG}[server.bad]\nargs = ["no command"]\n`)
    const opened = await open()
    expect(await opened.servers.ready()).toMatchObject([
      { server: 'a', state: 'ready' },
      { server: 'bad', state: 'failed' },
    ])
    await opened.close()
  })

  it('rejects an unknown option and suggests the nearest', async () => {
    await write(CONFIG)
    const misspelt = { lockfilepath: 'x' } as OpenFromConfigOptions
    await expect(open(misspelt)).rejects.toMatchObject({
      code: 'config-invalid',
      message: 'openFromConfig() has no option "lockfilepath"; did you mean "lockfilePath"?',
    })
    await expect(findConfig({ cwdd: cwd } as object)).rejects.toThrow('findConfig() has no option "cwdd"')
    await expect(open({ connect: { maxMessageByte: 1 } as object })).rejects.toThrow(
      'openFromConfig() has no option "connect.maxMessageByte"; did you mean "connect.maxMessageBytes"?',
    )
    await expect(open({ connect: { lockfile: {} } as object })).rejects.toThrow(
      'no option "connect.lockfile"',
    )
    await expect(open({ connect: { client: { nam: 'x' } } as object })).rejects.toThrow('connect.client.nam')
    await expect(open({ remembered: 'yes' as never })).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(openFromConfig(null as unknown as object)).rejects.toMatchObject({ code: 'config-invalid' })
    expect(world.opened).toBe(0)
  })

  describe('without a config', () => {
    it('says where it looked', async () => {
      await expect(open()).rejects.toMatchObject({ code: 'config-invalid' })
      await expect(open()).rejects.toThrow('looked for toolcrib.toml, mcp.toml, .mcp.json and mcp.json')
    })

    it('opens an empty registry when the config is optional', async () => {
      const opened = await open({ optional: true })
      expect(opened.config.files).toEqual([])
      expect(opened.servers.status()).toEqual([])
      await opened.close()
    })
  })

  describe('findConfig', () => {
    it('rejects a named lockfile that is missing or damaged, unless lenient', async () => {
      await write(CONFIG)
      const lockfilePath = join(cwd, 'other.lock')
      await expect(findConfig({ cwd, env, lockfilePath })).rejects.toThrow(
        `lockfile ${lockfilePath} does not exist`,
      )
      const missing = await findConfig({ cwd, env, lockfilePath, lenient: true })
      expect(missing).toMatchObject({ lockfile: undefined, lockPath: lockfilePath })
      await writeFile(lockfilePath, '{')
      await expect(findConfig({ cwd, env, lockfilePath })).rejects.toThrow('is damaged')
      const damaged = await findConfig({ cwd, env, lockfilePath, lenient: true })
      expect(damaged).toMatchObject({ lockfile: undefined, lockPath: lockfilePath })
      expect(damaged.locks[0]?.damage?.message).toContain('is damaged')
    })

    it('is not read again when it is passed on', async () => {
      await write(CONFIG)
      const found = await findConfig({ cwd, env })
      await rm(join(cwd, 'toolcrib.toml'))
      const opened = await open({ found })
      expect(opened.config).toBe(found.config)
      await opened.close()
    })
  })

  describe('a lock', () => {
    const lockA = (config: ServerConfig = { command: 'x' }, runs?: string) =>
      writeLockfile(
        join(cwd, 'toolcrib.lock'),
        lockServers(new Map([['a', { config, tools: [ECHO, { ...ECHO, name: 'add' }], runs }]])),
      )

    it.each([
      ['the config requires it', `require_lock = true\n${CONFIG}`, {}],
      ['--locked requires it', CONFIG, { locked: true }],
    ])('does not start servers without a lockfile when %s', async (_, text, options) => {
      await write(text)
      const opened = await open(options)
      const [status] = await opened.servers.ready()
      expect(status).toMatchObject({ state: 'failed' })
      expect(JSON.stringify(status)).toContain(
        `a lockfile is required but ${join(cwd, 'toolcrib.lock')} does not exist`,
      )
      await opened.close()
      expect(world.opened).toBe(0)
      await lockA()
      const locked = await open(options)
      expect(await locked.servers.ready()).toMatchObject([{ state: 'ready' }])
      await locked.close()
    })

    it('reports a deleted lockfile until it is written again', async () => {
      await write(CONFIG)
      expect((await findConfig({ cwd, env })).warnings).toEqual([])
      await lockA()
      expect((await findConfig({ cwd, env })).warnings).toEqual([])
      await rm(join(cwd, 'toolcrib.lock'))
      const [warning, ...others] = (await findConfig({ cwd, env })).warnings
      expect(warning).toContain(`${join(cwd, 'toolcrib.lock')} was used before and is missing`)
      expect(others).toEqual([])
      await lockA()
      expect((await findConfig({ cwd, env })).warnings).toEqual([])
    })

    it('does not report a lockfile that applied in another folder', async () => {
      await write(CONFIG)
      await lockA()
      await findConfig({ cwd, env })
      const other = join(cwd, 'other')
      await mkdir(other)
      await writeFile(join(other, 'toolcrib.toml'), CONFIG)
      expect((await findConfig({ cwd: other, env })).warnings).toEqual([])
    })

    it('does not start a server that would run another program than the approved one, until that is approved', async () => {
      await write(`${CONFIG}[server.b]\ncommand = "y"\n`)
      const program = async (folder: string) => {
        await mkdir(join(cwd, folder), { recursive: true })
        for (const name of ['x', 'y']) await writeFile(join(cwd, folder, name), '', { mode: 0o755 })
        return join(cwd, folder)
      }
      const [usual, other] = [await program('usual'), await program('other')]
      const tools = [ECHO, { ...ECHO, name: 'add' }]
      const servers = ['x', 'y'].map(
        (command, at) => ['ab'[at] ?? '', { config: { command }, tools }] as const,
      )
      await writeLockfile(join(cwd, 'toolcrib.lock'), lockServers(new Map(servers)))
      const pathOf = (...path: string[]) => ({ env: { ...env, PATH: path.join(delimiter) } })
      const movedWith = async (...path: string[]) => {
        const found = await findConfig({ cwd, ...pathOf(...path) })
        expect(found.warnings).toEqual([])
        return [...(found.lockfile?.moved?.keys() ?? [])]
      }
      expect(await movedWith(usual)).toEqual([])
      expect(await movedWith(usual, other)).toEqual([])
      expect(await movedWith(other, usual)).toEqual(['a', 'b'])
      // Seen twice, it is still not approved.
      expect(await movedWith(other, usual)).toEqual(['a', 'b'])
      const moved = { before: join(usual, 'x'), after: join(other, 'x') }

      const held = await open(pathOf(other))
      const [status] = await held.servers.ready()
      expect(status).toMatchObject({ state: 'failed', reason: expect.stringContaining('it would run') })
      expect(JSON.stringify(status)).toContain(`${moved.after}, but ran ${moved.before} when it was approved`)
      expect(JSON.stringify(status)).toContain('toolcrib approve a')
      await held.close()
      expect(world.opened).toBe(0)

      const free = await open({ ...pathOf(other), locked: false })
      await free.servers.ready()
      const observed = await observeServers(free, { cwd, ...pathOf(other) })
      await free.close()
      const lockfile = free.lockfile ?? { servers: new Map() }
      expect(compareWithLock(lockfile, observed)).toContainEqual({
        kind: 'command-changed',
        server: 'a',
        fields: [{ path: 'program', ...moved }],
      })
      const { lockfile: next, approved } = approveChanges(lockfile, observed, changeMatcher(['a']))
      expect(approved).toHaveLength(1)
      expect(await writeLocks(free.locks, next)).toEqual([join(cwd, 'toolcrib.lock')])
      expect(await movedWith(other, usual)).toEqual(['b'])
      expect(await movedWith(usual)).toEqual(['a'])
    })

    it('runs the version of a package that was approved, whatever the newest is', async () => {
      await write('[server.a]\ncommand = "npx"\nargs = ["-y", "@scope/server", "--flag"]\n')
      const config = { command: 'npx', args: ['-y', '@scope/server', '--flag'] }
      const asked: ServerConfig[] = []
      const record: OpenConnection = async (request) => {
        asked.push(request.config)
        throw new Error('not today')
      }
      const { onEvent: _, ...connect } = world.options
      await lockA(config, '@scope/server@1.4.2')
      for (const locked of [undefined, false]) {
        const opened = await open({
          connect: { ...connect, open: record },
          ...(locked === undefined ? {} : { locked }),
        })
        await opened.servers.ready()
        await opened.close()
      }
      expect(asked.map(({ args }) => args)).toEqual([
        ['-y', '@scope/server@1.4.2', '--flag'],
        ['-y', '@scope/server', '--flag'],
      ])
    })

    it('is applied again with a config that is found later', async () => {
      await write(CONFIG)
      const opened = await open()
      await opened.servers.ready()
      await lockA({ command: 'other' })
      await opened.reload(await findConfig({ cwd, env }))
      expect(opened.servers.status()).toMatchObject([{ server: 'a', state: 'failed' }])
      await lockA()
      await write(`${CONFIG}[server.b]\ncommand = "y"\n`)
      await opened.reload(await findConfig({ cwd, env }))
      const states = await opened.servers.ready()
      expect(states).toMatchObject([
        { server: 'a', state: 'cold' },
        { server: 'b', state: 'failed' },
      ])
      await opened.close()
    })
  })

  it('observes the tools and packages of servers', async () => {
    await write(`[server.a]\ncommand = "npx"\nargs = ["server"]\n[server.b]\ncommand = "y"\n`)
    await mkdir(join(cwd, 'node_modules', 'server'), { recursive: true })
    await writeFile(join(cwd, 'node_modules', 'server', 'package.json'), '{"version":"2.0.1"}')
    const opened = await open({ servers: (name) => name === 'a' })
    await opened.servers.ready()
    const observed = await observeServers(opened, { cwd, env })
    expect(observed.get('a')).toMatchObject({ runs: 'server@2.0.1', config: { command: 'npx' } })
    expect(observed.get('a')?.tools?.map(({ name }) => name)).toEqual(['echo', 'add'])
    expect(observed.get('b')).toMatchObject({ config: { command: 'y' }, tools: undefined })
    await opened.close()
  })
})
