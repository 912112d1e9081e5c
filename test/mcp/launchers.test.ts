import { execFile, spawn } from 'node:child_process'
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { type Store, ToolRegistry } from '@toolcrib/core'
import { type ConnectedServers, connectServers, type McpEvent, type ServerConfig } from '@toolcrib/mcp'
import { memoryStore } from 'toolcrib'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'

const SERVER = new URL('../fixtures/slow-server.mjs', import.meta.url).pathname
const PATIENCE = { timeout: 15_000, interval: 20 }

describe.skipIf(process.platform === 'win32')('a server that a launcher has to download', () => {
  let home: string
  const opened: ConnectedServers[] = []

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'toolcrib-launchers-'))
    await mkdir(join(home, 'bin'))
    await writeFile(join(home, 'bin', 'npx'), FAKE_NPX)
    await chmod(join(home, 'bin', 'npx'), 0o755)
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((servers) => servers.close()))
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Servers that a fake `npx` downloads until `finish(name)`; `flags` say how it reacts to SIGTERM. */
  const open = (
    names: readonly string[],
    { flags = [], store, ...config }: { flags?: readonly string[]; store?: Store } & ServerConfig = {},
    options: { retryFailed?: boolean } = {},
  ) => {
    const registry = new ToolRegistry()
    const events: McpEvent[] = []
    const entries = names.map((name): [string, ServerConfig] => {
      return [name, { command: 'npx', args: ['-y', name, ...flags], ...config }]
    })
    const servers = connectServers(
      registry,
      { servers: Object.fromEntries(entries) },
      {
        env: { ...process.env, HOME: home, PATH: path() },
        onEvent: (event) => events.push(event),
        ...options,
        ...(store ? { store } : {}),
      },
    )
    opened.push(servers)
    return { registry, servers, events }
  }
  const path = () => `${join(home, 'bin')}${delimiter}${process.env.PATH}`
  const isThere = (file: string) =>
    access(join(home, file)).then(
      () => true,
      () => false,
    )
  const until = (file: string) => vi.waitFor(() => access(join(home, file)), PATIENCE)
  const finish = (name: string) => writeFile(join(home, `${name}.finish`), '')

  it('says so with the time that has passed, and is waited for', async () => {
    const { servers, events } = open(['slow'])
    await until('slow.started')
    await vi.waitFor(() => expect(servers.status()).toMatchObject([DOWNLOADING]), PATIENCE)
    const ready = servers.ready({ timeoutMs: 1, waitForDownloads: true })
    expect(await servers.ready({ timeoutMs: 1 })).toMatchObject([DOWNLOADING])
    await finish('slow')
    expect(await ready).toEqual([{ server: 'slow', state: 'ready' }])
    expect(events).toContainEqual(expect.objectContaining({ type: 'server-state', ...DOWNLOADING }))
  })

  it('fails after `connect_timeout_ms` if that is set', async () => {
    const { servers } = open(['slow'], { connectTimeoutMs: 2_500 })
    expect(await servers.ready()).toMatchObject([
      { state: 'failed', reason: expect.stringContaining('it did not connect within 2500 ms') },
    ])
  })

  it('waits while two others are downloaded', async () => {
    const names = ['a', 'b', 'c']
    const { servers } = open(names)
    const started = async () => {
      const all = await Promise.all(names.map((name) => isThere(`${name}.started`)))
      return names.filter((_, at) => all[at])
    }
    await vi.waitFor(async () => expect(await started()).toHaveLength(2), PATIENCE)
    const waiting = { state: 'connecting', detail: 'waiting for other downloads' }
    await vi.waitFor(
      () => expect(servers.status()).toContainEqual(expect.objectContaining(waiting)),
      PATIENCE,
    )
    const [first = '', second = ''] = await started()
    await finish(first)
    await vi.waitFor(async () => expect(await started()).toHaveLength(3), PATIENCE)
    for (const name of [second, ...names]) await finish(name)
    const statuses = await servers.ready()
    expect(statuses.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready'])
  })

  it('is not killed while its launcher cleans up, and gets SIGTERM once', async () => {
    const { servers } = open(['slow'], { flags: ['--clean-up'] })
    await until('slow.started')
    await servers.close()
    expect(await readFile(join(home, 'slow.signals'), 'utf8')).toBe('SIGTERM\ncleaned up\n')
  })

  it('is not killed while its launcher cleans up after the end of the host', async () => {
    const host = spawn(process.execPath, [inject('mcpHost'), 'npx', 'slow', '--clean-up'], {
      env: { ...process.env, HOME: home, PATH: path() },
      stdio: 'ignore',
    })
    await until('slow.started')
    host.kill('SIGKILL')
    const signals = () => readFile(join(home, 'slow.signals'), 'utf8')
    await vi.waitFor(async () => expect(await signals()).toBe('SIGTERM\ncleaned up\n'), PATIENCE)
  })

  it('is connected to as usual once it has been installed', async () => {
    const store = memoryStore()
    await finish('slow')
    expect(await open(['slow'], { store }).servers.ready()).toMatchObject([{ state: 'ready' }])
    await Promise.all(opened.splice(0).map((servers) => servers.close()))
    await rm(join(home, 'slow.finish'))
    await rm(join(home, 'slow.started'))
    const { servers } = open(['slow'], { store, start: 'eager' })
    await until('slow.started')
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(servers.status()).toEqual([{ server: 'slow', state: 'connecting' }])
  })

  it('is waited for by doctor, which calls other servers hanging after ten seconds', {
    timeout: 90_000,
  }, async () => {
    await writeFile(join(home, '.mcp.json'), JSON.stringify({ mcpServers: { slow: SLOW } }))
    const doctor = spawn(process.execPath, [inject('commandLine'), 'doctor', '--json'], {
      cwd: home,
      env: { ...process.env, HOME: home, PATH: path() },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const report = text(doctor.stdout)
    await until('slow.started')
    await new Promise((resolve) => setTimeout(resolve, 12_000))
    await finish('slow')
    expect(JSON.parse(await report)).toMatchObject({
      servers: [{ server: 'slow', state: 'ready', tools: 1 }],
    })
  })

  it('names the folder that mends the cache of npx', async () => {
    const { servers } = open(['broken'], { flags: ['--broken'] })
    expect(await servers.ready()).toMatchObject([
      {
        state: 'failed',
        reason: expect.stringMatching(
          /^its package in the cache of npx is incomplete: .*Cannot find package 'zod'.*; remove it, .*: rm -rf ~\/\.npm\/_npx\/c98ccc168155bafa$/,
        ),
      },
    ])
  })

  it('that failed is started again at once for a person, and later in the background', async () => {
    const store = memoryStore()
    await open(['broken'], { flags: ['--broken'], store }).servers.ready()
    await Promise.all(opened.splice(0).map((servers) => servers.close()))
    await rm(join(home, 'broken.started'))
    const { servers } = open(['broken'], { flags: ['--broken'], store })
    expect(await servers.ready()).toMatchObject([
      { reason: expect.stringContaining('so it was not started again') },
    ])
    expect(await isThere('broken.started')).toBe(false)
    const asked = open(['broken'], { flags: ['--broken'], store }, { retryFailed: true })
    expect(await asked.servers.ready()).toMatchObject([
      { reason: expect.stringMatching(/^its package in the cache/) },
    ])
    expect(await isThere('broken.started')).toBe(true)
  })
})

/** A package that needs four others, as published. */
const PACKAGE = '@modelcontextprotocol/server-memory@2026.8.31'
/** Tests read no further certificates, but here the network of this machine may need them. */
const NPM_ENV = { ...process.env, NODE_EXTRA_CA_CERTS: process.env.SSL_CERT_FILE ?? '' }
const registryUrl = await reachableRegistry()

describe.skipIf(process.platform === 'win32')('npx with a cold cache', () => {
  let home: string
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'toolcrib-npx-'))
  })
  afterEach(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))

  const connect = () => {
    const registry = new ToolRegistry()
    const env = { ...NPM_ENV, HOME: home, NPM_CONFIG_REGISTRY: registryUrl }
    // Elsewhere, npx finds the package that this project has installed.
    const memory = { command: 'npx', args: ['-y', PACKAGE], cwd: home }
    return { registry, servers: connectServers(registry, { servers: { memory } }, { env }) }
  }

  it.skipIf(registryUrl === undefined)(
    'starts a published server at the first attempt, also after an install that was interrupted',
    { timeout: 300_000 },
    async () => {
      const interrupted = connect()
      const cache = join(home, '.npm', '_npx')
      const isInstalling = async () => expect(await readdir(cache)).toHaveLength(1)
      await vi.waitFor(isInstalling, { timeout: 60_000, interval: 10 })
      await interrupted.servers.close()

      const { registry, servers } = connect()
      expect(await servers.ready()).toEqual([{ server: 'memory', state: 'ready' }])
      const call = { toolCallId: '1', name: 'mcp__memory__read_graph', args: {} }
      const [answer] = await registry.executeParallel([call], { sessionId: 's' })
      expect(answer?.result).toMatchObject({ ok: true })
      await servers.close()
    },
  )
})

/** The registry that npm uses on this machine; undefined, with a note, if it does not have the package or does not answer. */
async function reachableRegistry(): Promise<string | undefined> {
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('npm', args, { env: NPM_ENV, timeout: 30_000 })
    return stdout.trim()
  }
  const url = await run('config', 'get', 'registry')
  if (process.env.CI === 'true') return url
  try {
    await run('view', PACKAGE, 'version')
    return url
  } catch (error) {
    console.warn(`skipped: ${PACKAGE} cannot be read from ${url}: ${error}`)
    return undefined
  }
}

const SLOW = { command: 'npx', args: ['-y', 'slow'] }
const DOWNLOADING = { state: 'connecting', detail: expect.stringMatching(/^downloading with npx, \d+ s$/) }

/** Records that it runs and which signals it gets, "downloads" until a file appears, and then becomes the server. */
const FAKE_NPX = `#!${process.execPath}
const { appendFileSync, existsSync, writeFileSync } = require('node:fs')
const { HOME } = process.env
const file = (end) => HOME + '/' + process.argv[3] + '.' + end
if (process.argv.includes('--clean-up'))
  process.on('SIGTERM', () => {
    appendFileSync(file('signals'), 'SIGTERM\\n')
    setTimeout(() => {
      appendFileSync(file('signals'), 'cleaned up\\n')
      process.exit(143)
    }, 2_500)
  })
writeFileSync(file('started'), '')
console.error('npm http fetch GET 200')
if (process.argv.includes('--broken')) {
  const folder = HOME + '/.npm/_npx/c98ccc168155bafa'
  console.error("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from " + folder + '/node_modules/x/index.js')
  process.exit(1)
}
const timer = setInterval(() => {
  if (!existsSync(file('finish'))) return
  clearInterval(timer)
  import(${JSON.stringify(SERVER)})
}, 20)
`
