import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findConfig } from './config/find-config.ts'
import type { ServerConfig } from './config/server-config.ts'
import { World } from './fake-world.ts'
import { lockServers } from './lock/lockfile.ts'
import { writeLockfile } from './lock/lockfile-file.ts'
import type { OpenConnection } from './open-connection.ts'
import { type OpenFromConfigOptions, openFromConfig } from './open-from-config.ts'

const ECHO = { name: 'echo', description: '', inputSchema: { type: 'object' } } as const
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

  it('connects only the servers that are asked for', async () => {
    await write(`${CONFIG}[server.b]\ncommand = "y"\n`)
    const opened = await open({ servers: (name) => name === 'b' })
    expect(opened.servers.status().map(({ server }) => server)).toEqual(['b'])
    expect(Object.keys(opened.config.servers)).toEqual(['a', 'b'])
    await opened.close()
  })

  it('ranks by words and meaning, unless config or caller says otherwise', async () => {
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

  it('holds servers to the lockfile, unless told not to', async () => {
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

  it('remembers what servers list in the cache folder of the user', async () => {
    await write(CONFIG)
    const first = await open()
    await first.servers.ready()
    await first.close()
    const folder = join(cwd, 'home', '.cache', 'toolcrib', 'catalogues')
    expect((await readdir(folder)).some((name) => name.startsWith('a-'))).toBe(true)
    const second = await open()
    expect(await second.servers.ready()).toMatchObject([{ state: 'cold' }])
    expect(second.registry.has('mcp__a__echo')).toBe(true)
    await second.close()
    expect(world.opened).toBe(1)
  })

  it('starts a remembered server that is eager, unless remembered is enough', async () => {
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

  it('forgets what is older than a day', async () => {
    await write(CONFIG)
    const folder = join(env.HOME ?? '', '.cache', 'toolcrib', 'catalogues')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'old.json'), '{}')
    await utimes(join(folder, 'old.json'), new Date(0), new Date(0))
    const opened = await open({ servers: () => false })
    await opened.close()
    expect(await readdir(folder)).toEqual([])
  })

  it('gives every server the time it is told to', async () => {
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

  it('reports what happens to servers from the start', async () => {
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

  it('refuses an unknown option, naming the nearest', async () => {
    await write(CONFIG)
    const misspelt = { lockfilepath: 'x' } as OpenFromConfigOptions
    await expect(open(misspelt)).rejects.toMatchObject({
      code: 'config-invalid',
      message: 'openFromConfig() has no option "lockfilepath"; did you mean "lockfilePath"?',
    })
    await expect(findConfig({ cwdd: cwd } as object)).rejects.toThrow('findConfig() has no option "cwdd"')
    await expect(openFromConfig(null as unknown as object)).rejects.toMatchObject({ code: 'config-invalid' })
    expect(world.opened).toBe(0)
  })

  describe('without a config', () => {
    it('says where it looked', async () => {
      await expect(open()).rejects.toMatchObject({ code: 'config-invalid' })
      await expect(open()).rejects.toThrow('looked for toolcrib.toml, mcp.toml, .mcp.json and mcp.json')
    })

    it('opens an empty registry when that is enough', async () => {
      const opened = await open({ optional: true })
      expect(opened.config.files).toEqual([])
      expect(opened.servers.status()).toEqual([])
      await opened.close()
    })
  })

  describe('findConfig', () => {
    it('refuses a lockfile that was named and is not there, or is damaged, unless it is lenient', async () => {
      await write(CONFIG)
      const lockfilePath = join(cwd, 'other.lock')
      await expect(findConfig({ cwd, env, lockfilePath })).rejects.toThrow(
        `there is no lockfile ${lockfilePath}`,
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
})
