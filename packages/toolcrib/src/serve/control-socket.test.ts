import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { reloadGateways } from '../gateway/require-gateway.ts'
import { RunningGateway } from '../gateway/running-gateway.ts'
import { extraSocketPath, socketPath, userRuntimeFolder } from '../gateway/runtime-folder.ts'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { type ControlledGateway, ControlSocket } from './control-socket.ts'
import { LogBook } from './log-book.ts'

describe.skipIf(process.platform === 'win32')('the control socket', () => {
  let folder = ''
  let open: ControlSocket[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'toolcrib-run-'))
    open = []
  })
  afterEach(async () => {
    await Promise.all(open.map((socket) => socket.close()))
    rmSync(folder, { recursive: true })
  })

  const env = () => ({ XDG_RUNTIME_DIR: folder })
  const found = (...files: string[]) => ({ config: { files } })
  const start = async (
    { path, ...gateway }: Partial<ControlledGateway> & { path?: string } = {},
    ...files: string[]
  ) => {
    const socket = await ControlSocket.open(path ?? socketPath(files, env()), {
      logs: new LogBook(),
      status: () => ({ pid: process.pid, files, servers: [] }),
      serveStream: async () => {},
      approvals: {} as never,
      describeServer: async () => ({}),
      serveServer: async () => {},
      reload: async () => {},
      restart: async (server) => ({ server, state: 'ready', tools: 0 }),
      keep: () => {},
      stop: () => {},
      ...gateway,
    })
    if (socket) open.push(socket)
    return socket
  }

  /** A gateway that breaks the connection of whoever asks it for something, and that may end then. */
  const startBreaking = async (
    path: string,
    { report, isEnding }: { readonly report: object; readonly isEnding: boolean },
  ) => {
    const server = createHttpServer((request, response) => {
      if (request.method === 'GET') return response.end(JSON.stringify(report))
      if (isEnding) server.close()
      return request.socket.destroy()
    })
    onTestFinished(() => void server.close())
    await once(server.listen(path), 'listening')
  }

  it('lets a command of the same config find the gateway, and no other', async () => {
    await start({}, '/a/toolcrib.toml')
    expect((await RunningGateway.find(found('/a/toolcrib.toml'), env()))?.report).toEqual({
      pid: process.pid,
      files: ['/a/toolcrib.toml'],
      servers: [],
    })
    expect(await RunningGateway.find(found('/b/toolcrib.toml'), env())).toBeUndefined()
  })

  it('is found without XDG_RUNTIME_DIR, which MCP clients do not pass on, where systems usually have that folder', () => {
    const own = join(folder, String(process.getuid?.()))
    expect(userRuntimeFolder(folder)).toBeUndefined()
    writeFileSync(own, '')
    expect(userRuntimeFolder(folder)).toBeUndefined()
    rmSync(own)
    mkdirSync(own)
    expect(userRuntimeFolder(folder)).toBe(own)
    const usual = userRuntimeFolder()
    if (usual)
      expect(socketPath(['/a'], { HOME: folder })).toBe(socketPath(['/a'], { XDG_RUNTIME_DIR: usual }))
    else expect(socketPath(['/a'], { HOME: '/h' })).toMatch(/^\/h\/\.local\/state\/toolcrib\/run\//)
  })

  it('lets lock and approve reload every gateway of the config', async () => {
    const reloaded: string[] = []
    const reload = (name: string) => ({ reload: async () => void reloaded.push(name) })
    await start(reload('main'), '/a')
    await start(reload('other config'), '/b')
    await start(reload('same project'), '/user', '/a')
    const path = extraSocketPath(['/a'], env(), 'stdio') ?? ''
    await start({ ...reload('over stdio'), path, status: () => ({ url: null, servers: [] }) }, '/a')
    const { terminal, stderr } = fakeTerminal({ env: env() })
    await reloadGateways(terminal, found('/a'))
    expect([reloaded.sort(), stderr()]).toEqual([['main', 'over stdio', 'same project'], ''])
  })

  it('asks no gateway over stdio where others look for servers to use', async () => {
    let asked = 0
    const status = () => {
      asked++
      return { files: ['/a'], url: null, servers: [] }
    }
    await start({ status, path: extraSocketPath(['/a'], env(), 'stdio') ?? '' }, '/a')
    expect([await RunningGateway.find(found('/a'), env()), asked]).toEqual([undefined, 0])
    const second = { pid: process.pid, files: ['/a'], url: 'http://second/mcp', servers: [] }
    await start({ status: () => second, path: extraSocketPath(['/a'], env(), 'http') ?? '' }, '/a')
    expect((await RunningGateway.find(found('/a'), env()))?.place).toBe('at http://second/mcp')
    expect(asked).toBe(0)
  })

  it('lets lock and approve continue when a gateway cannot be told, or ends meanwhile', async () => {
    const reloaded: string[] = []
    const extra = (pid: number) => extraSocketPath(['/a'], env(), 'http', pid) ?? ''
    const report = (name: string) => ({
      url: `http://${name}/mcp`,
      pid: process.pid,
      servers: [],
      files: ['/a'],
    })
    await start({ reload: async () => void reloaded.push('main') }, '/a')
    await startBreaking(extra(101), { report: report('ending'), isEnding: true })
    await startBreaking(extra(102), { report: report('broken'), isEnding: false })
    const { terminal, stderr } = fakeTerminal({ env: env() })
    await reloadGateways(terminal, found('/a'))
    expect(reloaded).toEqual(['main'])
    expect(stderr()).toBe(
      'note the gateway at http://broken/mcp has not read the lockfile; see "toolcrib logs", or restart it\n',
    )
  })

  it('tells when a reload fails, or takes too long', async () => {
    await start({ reload: () => Promise.reject(new Error('no')) }, '/a')
    const { terminal, stderr } = fakeTerminal({ env: env() })
    await reloadGateways(terminal, found('/a'))
    expect(stderr()).toContain('has not read the lockfile')
    await start({ reload: () => new Promise(() => {}) }, '/b')
    const hanging = await RunningGateway.find(found('/b'), env())
    expect(await hanging?.reload({ timeoutMs: 50 })).toBe(false)
  })

  it('can be reached by its owner alone', async () => {
    const socket = await start({}, '/a')
    expect(statSync(join(folder, 'toolcrib')).mode & 0o777).toBe(0o700)
    expect(statSync(socket?.path ?? '').mode & 0o777).toBe(0o600)
  })

  it('closes a folder that others could enter', async () => {
    await start({}, '/a')
    chmodSync(join(folder, 'toolcrib'), 0o755)
    await start({}, '/b')
    expect(statSync(join(folder, 'toolcrib')).mode & 0o777).toBe(0o700)
  })

  it('is not used where somebody else could have put it', async () => {
    await start({}, '/a')
    chmodSync(join(folder, 'toolcrib'), 0o777)
    expect(await RunningGateway.find(found('/a'), env())).toBeUndefined()
    expect(await RunningGateway.allOf(found('/a'), env())).toEqual([])
  })

  it('belongs to the first gateway of a config', async () => {
    expect(await start({ status: () => ({ pid: 1 }) }, '/a')).toBeDefined()
    expect(await start({ status: () => ({ pid: 2 }) }, '/a')).toBeUndefined()
    expect((await RunningGateway.find(found('/a'), env()))?.report.pid).toBe(1)
  })

  it('takes the place of one that a killed gateway left behind', async () => {
    const path = socketPath(['/a'], env())
    const first = await start({}, '/a')
    await first?.close()
    open = []
    // A file that nobody listens at, as after kill -9.
    const dead = createServer().listen(path)
    await once(dead, 'listening')
    const { spawnSync } = await import('node:child_process')
    dead.close()
    spawnSync(process.execPath, [
      '-e',
      `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ])
    expect(existsSync(path)).toBe(true)
    expect(await RunningGateway.find(found('/a'), env())).toBeUndefined()
    expect(await start({}, '/a')).toBeDefined()
    expect(await RunningGateway.find(found('/a'), env())).toBeDefined()
  })

  it('leaves nothing behind', async () => {
    const socket = await start({}, '/a')
    await socket?.close()
    open = []
    expect(readdirSync(join(folder, 'toolcrib'))).toEqual([])
  })

  it('passes a stream on as it is, with its profile', async () => {
    let profile: string | undefined
    await start(
      {
        serveStream: async (stream, given) => {
          profile = given
          stream.on('data', (chunk) => stream.write(`echo ${chunk}`))
          await once(stream, 'close')
        },
      },
      '/a',
    )
    const running = await RunningGateway.find(found('/a'), env())
    const stream = await running?.openStream('work')
    stream?.write('{"id":1}\n')
    expect(String((await once(stream as NonNullable<typeof stream>, 'data'))[0])).toBe('echo {"id":1}\n')
    expect(profile).toBe('work')
    const closed = once(stream as NonNullable<typeof stream>, 'close')
    stream?.end()
    stream?.resume()
    await closed
  })

  it('shows the log, of one server or of all, and what is added later', async () => {
    const logs = new LogBook()
    const at = '2026-01-01T00:00:00.000Z'
    logs.add({ at, level: 'info', server: 'a', message: 'one' })
    logs.add({ at, level: 'warn', server: 'b', message: 'two' })
    await start({ logs }, '/a')
    const running = await RunningGateway.find(found('/a'), env())
    const read = async (server?: string) => {
      const stream = await running?.logs({ server, follow: false })
      const lines = stream ? await text(stream) : ''
      return [...lines.matchAll(/"message":"(\w+)"/g)].map(([, message]) => message)
    }
    expect(await read()).toEqual(['one', 'two'])
    expect(await read('b')).toEqual(['two'])
    const followed = await running?.logs({ server: 'a', follow: true })
    const chunks = followed?.[Symbol.asyncIterator]()
    expect(String((await chunks?.next())?.value)).toContain('one')
    logs.add({ at, level: 'info', server: 'b', message: 'other' })
    logs.add({ at, level: 'info', server: 'a', message: 'three' })
    expect(String((await chunks?.next())?.value)).toContain('three')
    followed?.destroy()
  })

  it('stops the gateway, and waits until it is gone', async () => {
    let socket: ControlSocket | undefined
    socket = await start({ stop: () => void socket?.close() }, '/a')
    open = []
    const running = await RunningGateway.find(found('/a'), env())
    expect(await running?.stop()).toBe(true)
    expect(await RunningGateway.find(found('/a'), env())).toBeUndefined()
  })

  it('counts a gateway as stopped that ends before it is asked, or while it is', async () => {
    const socket = await start({}, '/a')
    const gone = await RunningGateway.find(found('/a'), env())
    await socket?.close()
    open = []
    expect(await gone?.stop()).toBe(true)
    const report = { pid: process.pid, servers: [] }
    await startBreaking(socketPath(['/a'], env()), { report, isEnding: true })
    const ending = await RunningGateway.find(found('/a'), env())
    expect(await ending?.stop()).toBe(true)
  })

  it.runIf(process.platform === 'linux')('counts a process that nobody has waited for as gone', async () => {
    // What the shell has started ends, and the program that takes the place of the shell never looks.
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'])
    onTestFinished(() => void parent.kill('SIGKILL'))
    const pid = Number(String((await once(parent.stdout, 'data'))[0]))
    let socket: ControlSocket | undefined
    socket = await start({ status: () => ({ pid, servers: [] }), stop: () => void socket?.close() }, '/a')
    open = []
    const running = await RunningGateway.find(found('/a'), env())
    expect(await running?.stop({ timeoutMs: 2_000 })).toBe(true)
  })
})
