import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../command-line.ts'
import { ControlSocket } from '../serve/control-socket.ts'
import { LogBook } from '../serve/log-book.ts'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { extraSocketPath, logPath, socketPath } from './runtime-folder.ts'

describe.skipIf(process.platform === 'win32')('commands about the running gateway', () => {
  let home = ''
  let sockets: (ControlSocket | undefined)[] = []
  let stopped: string[] = []
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-gateway-')))
    mkdirSync(join(home, 'project'))
    sockets = []
    stopped = []
  })
  afterEach(async () => {
    for (const socket of sockets) await socket?.close()
    rmSync(home, { recursive: true })
  })

  const env = () => ({ HOME: home, XDG_RUNTIME_DIR: home })
  const line = { at: '2026-01-01T00:00:00.000Z', level: 'info', server: 'weather', message: 'ready' } as const

  function write(path: string, text: string): string {
    const whole = join(home, path)
    mkdirSync(dirname(whole), { recursive: true })
    writeFileSync(whole, text)
    return whole
  }

  async function toolcrib(...args: string[]) {
    const { terminal, stdout, stderr } = fakeTerminal({ env: env(), cwd: join(home, 'project') })
    const status = await runCommandLine(args, terminal)
    return { status, stdout: stdout(), stderr: stderr() }
  }

  /** A gateway that was started on these files. */
  async function gatewayOf(files: readonly string[], path = socketPath(files, env()), report: object = {}) {
    const logs = new LogBook()
    logs.add(line)
    const url = `http://127.0.0.1:7117/${sockets.length}`
    const socket = await ControlSocket.open(path, {
      logs,
      status: () => ({
        pid: process.pid,
        version: '1',
        url,
        ...report,
        startedAt: `2026-01-01T00:00:0${sockets.length}.000Z`,
        files,
        servers: [{ server: 'weather', state: 'ready' }],
      }),
      serveStream: async () => {},
      approvals: {} as never,
      describeServer: async () => ({}),
      serveServer: async () => {},
      reload: async () => {},
      restart: async (server) => ({ server, state: 'ready', tools: 0 }),
      keep: () => {},
      stop: () => {
        stopped.push(url)
        sockets = sockets.filter((each) => each !== socket)
        void socket?.close()
      },
    })
    sockets.push(socket)
    return url
  }

  describe.each([
    ['in the folder', () => []],
    ['that a flag names', () => ['--config', 'toolcrib.toml']],
  ])('with an invalid config %s', (_place, flags) => {
    it('find the gateway that runs on it', async () => {
      const config = write('project/toolcrib.toml', 'command = = "x"\n')
      const url = await gatewayOf([config])
      const status = await toolcrib('status', ...flags())
      expect(status).toMatchObject({ status: 0, stdout: expect.stringContaining(url) })
      expect(status.stderr).toMatch(
        /^note the gateway runs on the config as it was before: .*toolcrib\.toml:1:/,
      )
      expect(await toolcrib('logs', 'weather', ...flags())).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('weather ready'),
      })
      expect((await toolcrib('logs', 'nowhere', ...flags())).stderr).toContain('unknown server "nowhere"')
      expect(await toolcrib('stop', ...flags())).toMatchObject({
        status: 0,
        stdout: `stopped the gateway at ${url}\n`,
      })
      expect(await toolcrib('stop', ...flags())).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(`no gateway is running for ${config}`),
      })
    })

    it('show the log of the last gateway', async () => {
      const config = write('project/toolcrib.toml', 'command = = "x"\n')
      const log = logPath([config], env()) ?? ''
      write(log.slice(home.length), `${JSON.stringify(line)}\n`)
      expect(await toolcrib('logs', 'weather', ...flags())).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('weather ready'),
      })
    })
  })

  it('know all gateways of the config, over HTTP and stdio', async () => {
    const config = write('project/toolcrib.toml', '')
    const extra = (kind: 'http' | 'stdio') => extraSocketPath([config], env(), kind)
    await gatewayOf([config], extra('stdio'), { url: null, client: 'an\u001B editor' })
    const second = await gatewayOf([config], extra('http'))
    const status = await toolcrib('status')
    expect(status.stdout.match(/^Toolcrib.*/gm)).toEqual([
      `Toolcrib 1 at ${second}`,
      `Toolcrib 1 over stdio for an\\u{1b} editor (pid ${process.pid})`,
    ])
    const first = await gatewayOf([config])
    const { others, ...report } = JSON.parse((await toolcrib('status', '--json')).stdout)
    expect([report, ...others].map(({ url }) => url)).toEqual([first, second, null])
    expect(await toolcrib('logs')).toMatchObject({
      status: 0,
      stderr: `note 3 gateways of this config are running; this is the log of the one at ${first}\n`,
    })
    const { stdout } = await toolcrib('stop', '--json')
    const pid = process.pid
    expect(JSON.parse(stdout)).toEqual({
      stopped: true,
      pid,
      url: first,
      others: [
        { pid, url: second },
        { pid, url: null, client: 'an\u001B editor' },
      ],
    })
    expect(stopped).toHaveLength(3)
    for (const command of ['stop', 'status'])
      for (const field of ['"others"', '"client"', '"url" is null'])
        expect((await toolcrib(command, '--help')).stdout.replace(/\s+/g, ' ')).toContain(field)
    expect((await toolcrib('stop')).stderr).toContain('there is nothing to stop')
  })

  it('remove the sockets of gateways that were killed', async () => {
    const config = write('project/toolcrib.toml', '')
    const killed = spawn(process.execPath, ['-e', ''])
    await once(killed, 'exit')
    const path = extraSocketPath([config], env(), 'stdio', killed.pid) ?? ''
    mkdirSync(dirname(path), { mode: 0o700 })
    // A process that ends without closing its socket leaves the file.
    const program = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    await once(spawn(process.execPath, ['-e', program]), 'exit')
    expect(existsSync(path)).toBe(true)
    const alive = extraSocketPath([config], env(), 'stdio') ?? ''
    await once(spawn(process.execPath, ['-e', program.replace(path, alive)]), 'exit')
    expect((await toolcrib('status')).status).toBe(1)
    expect([existsSync(path), existsSync(alive)]).toEqual([false, true])
  })

  it('need a config that exists, unless its gateway is still running', async () => {
    const config = join(home, 'project', 'gone.toml')
    expect(await toolcrib('status', '--config', 'gone.toml')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`config file ${config} does not exist`),
    })
    const url = await gatewayOf([config])
    expect((await toolcrib('stop', '--config', 'gone.toml')).stdout).toContain(url)
  })

  it('find the gateway of the project, whether or not it was started with the config of the user', async () => {
    const project = write('project/toolcrib.toml', '')
    const url = await gatewayOf([project])
    const user = write('.config/toolcrib/toolcrib.toml', '')
    for (const command of ['status', 'logs']) expect(await toolcrib(command)).toMatchObject({ status: 0 })
    expect((await toolcrib('stop')).stdout).toBe(`stopped the gateway at ${url}\n`)
    const both = await gatewayOf([user, project])
    expect((await toolcrib('stop', '--config', 'toolcrib.toml')).stdout).toContain(both)
    // Neither hides the other.
    const [alone, again] = [await gatewayOf([project]), await gatewayOf([user, project])]
    const { others, ...report } = JSON.parse((await toolcrib('status', '--json')).stdout)
    expect([report, ...others].map((each) => each.url)).toEqual([again, alone])
    expect((await toolcrib('stop')).stdout.match(/^stopped.*/gm)).toEqual([
      `stopped the gateway at ${again}`,
      `stopped the gateway at ${alone}`,
    ])
  })

  it('leave the gateway of the user alone in a project, and name it', async () => {
    write('project/toolcrib.toml', '')
    const user = write('.config/toolcrib/toolcrib.toml', '')
    const url = await gatewayOf([user])
    for (const command of ['status', 'stop', 'logs'])
      expect(await toolcrib(command)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(`; a gateway of ${user} is running; add --config ${user}`),
      })
    expect(stopped).toEqual([])
    expect((await toolcrib('stop', '--config', user)).stdout).toContain(url)
  })
})
