import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fakeTerminal } from '../fake-terminal.fixture.ts'
import { socketPath } from '../runtime-folder.ts'
import { ControlSocket } from '../serve/control-socket.ts'
import { LogBook } from '../serve/log-book.ts'
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
      describeServer: async () => ({}),
      serveServer: async () => {},
      reload: async () => {},
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
    const ended = runLogs(terminal, undefined, { follow: true })
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
})
