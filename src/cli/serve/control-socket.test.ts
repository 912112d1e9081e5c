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
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { RunningGateway } from '../running-gateway.ts'
import { extraSocketPath, socketPath, userRuntimeFolder } from '../runtime-folder.ts'
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
      status: () => ({ pid: process.pid, servers: [] }),
      serveStream: async () => {},
      describeServer: async () => ({}),
      serveServer: async () => {},
      reload: async () => {},
      stop: () => {},
      ...gateway,
    })
    if (socket) open.push(socket)
    return socket
  }

  it('lets a command of the same config find the gateway, and no other', async () => {
    await start({}, '/a/toolcrib.toml')
    expect((await RunningGateway.find(found('/a/toolcrib.toml'), env()))?.report).toEqual({
      pid: process.pid,
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
    const path = extraSocketPath(['/a'], env()) ?? ''
    await start({ ...reload('over stdio'), path, status: () => ({ url: null, servers: [] }) }, '/a')
    await RunningGateway.reloadAll(found('/a'), env())
    expect(reloaded.sort()).toEqual(['main', 'over stdio'])
    // Others cannot use the servers of a gateway over stdio.
    await open.shift()?.close()
    expect(await RunningGateway.find(found('/a'), env())).toBeUndefined()
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
