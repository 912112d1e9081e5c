import { EventEmitter, getEventListeners, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { logPath, socketPath } from '../gateway/runtime-folder.ts'
import { ControlSocket } from '../serve/control-socket.ts'
import { LogBook } from '../serve/log-book.ts'
import { LogFile } from '../serve/log-file.ts'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { runLogs } from './run-logs.ts'

describe.skipIf(process.platform === 'win32')('toolcrib logs --follow', () => {
  let folder = ''
  let socket: ControlSocket | undefined
  let logs = new LogBook()
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'toolcrib-logs-'))
    const config = join(folder, 'toolcrib.toml')
    writeFileSync(config, '')
    logs = new LogBook()
    log('first')
    socket = await ControlSocket.open(socketPath([config], env()), {
      logs,
      status: () => ({ pid: process.pid, servers: [] }),
      serveStream: async () => {},
      approvals: {} as never,
      describeServer: async () => ({}),
      serveServer: async () => {},
      reload: async () => {},
      restart: async (server) => ({ server, state: 'ready', tools: 0 }),
      keep: () => {},
      stop: () => {},
    })
  })
  afterEach(async () => {
    await socket?.close()
    rmSync(folder, { recursive: true })
  })

  const env = () => ({ XDG_RUNTIME_DIR: folder, HOME: folder })
  const log = (message: string) => logs.add({ at: '2026-01-01T00:00:00.000Z', level: 'info', message })

  /** Follows the log, and resolves once its first line is printed. */
  async function follow() {
    const signals = new EventEmitter()
    const output = new PassThrough()
    const { terminal } = fakeTerminal({ cwd: folder, env: env(), signals, output })
    // The process of the tests goes on.
    const ended = runLogs(terminal, undefined, { follow: true }, () => {})
    ended.catch(() => {})
    const [line] = await once(output, 'data')
    expect(String(line)).toContain('first')
    return { ended, signals, output }
  }

  it('ends when it is interrupted', async () => {
    const { ended, signals } = await follow()
    signals.emit('SIGINT')
    await expect(ended).rejects.toMatchObject({ exitCode: 130 })
  })

  it('ends with the gateway', async () => {
    const { ended } = await follow()
    await socket?.close()
    socket = undefined
    expect(await ended).toBe(0)
  })

  it('ends when nobody reads it any more', async () => {
    const { ended, output } = await follow()
    output.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await ended).toBe(0)
  })

  it('leaves nothing behind on the signal that would have ended it', async () => {
    const adding = vi.spyOn(EventTarget.prototype, 'addEventListener')
    onTestFinished(() => adding.mockRestore())
    const { ended } = await follow()
    const signals = adding.mock.contexts.filter((target) => target instanceof AbortSignal)
    await socket?.close()
    socket = undefined
    await ended
    expect(signals.length).toBeGreaterThan(0)
    for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('fails when a line cannot be shown', async () => {
    const { terminal } = fakeTerminal({ cwd: folder, env: env() })
    vi.spyOn(terminal, 'print').mockImplementation(() => {
      throw new Error('cannot print')
    })
    await expect(runLogs(terminal, undefined, { follow: true })).rejects.toThrow('cannot print')
  })

  /** What the command makes of a log that a gateway sends like this. */
  async function runWith(send: (response: ServerResponse) => void) {
    await socket?.close()
    socket = undefined
    const gateway = createServer(({ url }, response) => {
      if (url?.startsWith('/logs')) send(response)
      else response.end(JSON.stringify({ pid: process.pid, servers: [] }))
    })
    gateway.listen(socketPath([join(folder, 'toolcrib.toml')], env()))
    await once(gateway, 'listening')
    onTestFinished(() => void gateway.close())
    const { terminal, stdout } = fakeTerminal({ cwd: folder, env: env() })
    return { code: await runLogs(terminal, undefined, {}), shown: stdout() }
  }
  const LINE = '{"at":"2026-01-01T00:00:00.000Z","level":"info","message":"whole"}\n'

  it('ends within a line when the gateway does', async () => {
    const { code, shown } = await runWith((response) => void response.end(`${LINE}{"at":"20`))
    expect(code).toBe(0)
    expect(shown).toContain('whole')
  })

  it('ends when the connection to the gateway breaks', async () => {
    const { code, shown } = await runWith((response) => {
      response.write(`${LINE}{"at":"20`, () => setTimeout(() => response.destroy(), 50))
    })
    expect(code).toBe(0)
    expect(shown).toContain('whole')
  })

  it('fails at a line that does not parse and is not the last', async () => {
    await expect(runWith((response) => void response.end(`junk\n${LINE}`))).rejects.toThrow(SyntaxError)
  })
})

describe('toolcrib logs of gateways that have stopped', () => {
  it('names the process of each line where several wrote at the same time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-logs-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const config = join(folder, 'toolcrib.toml')
    writeFileSync(config, '')
    const env = { XDG_RUNTIME_DIR: folder, XDG_STATE_HOME: folder, HOME: folder }
    const path = logPath([config], env) ?? ''
    const write = async (pid: number, message: string) => {
      const file = await LogFile.open(path, { pid })
      file.write({ at: '2026-01-01T00:00:00.000Z', level: 'info', message })
      file.close()
    }
    const shown = async () => {
      const { terminal, stdout, stderr } = fakeTerminal({ cwd: folder, env })
      expect(await runLogs(terminal, undefined, {})).toBe(0)
      const lines = stripVTControlCharacters(stdout()).trim().split('\n')
      return { lines: lines.map((line) => line.slice('00:00:00 info  '.length)), note: stderr() }
    }
    await write(11, 'one')
    await write(22, 'two')
    expect((await shown()).lines).toEqual(['one', 'two'])
    await write(11, 'three')
    const { lines, note } = await shown()
    expect(lines).toEqual(['pid 11 one', 'pid 22 two', 'pid 11 three'])
    expect(note).toContain('this is the log of the last ones, with their process ids')
  })
})
