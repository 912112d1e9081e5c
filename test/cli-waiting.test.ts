import { existsSync } from 'node:fs'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { runCommandLine } from '../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'

// Some steps wait for servers.
vi.setConfig({ testTimeout: 60_000 })

// Gives up on servers that hang immediately.
const schedule = (_: number, fire: () => void) => {
  const timer = setTimeout(fire, 0)
  return () => clearTimeout(timer)
}
const commandLine = useCommandLine({ schedule })
const { path, toolcrib, toolcribAt, toolcribWith, list, server, configure, silentServer, write } = commandLine

/** Runs a command that says at once what it waits for. */
async function impatient(...args: string[]) {
  const place = { env: commandLine.environment(), cwd: path(), schedule, patienceMs: 0 }
  const { terminal, stdout, stderr } = fakeTerminal(place)
  const status = await runCommandLine(args, terminal)
  return { status, stdout: stdout(), stderr: stderr() }
}

describe('commands that wait', () => {
  beforeEach(() => list(RAIN))

  it('report on the connected servers when another hangs', async () => {
    configure({ weather: server(), stuck: silentServer() })
    const missing = 'it is still connecting; increase --timeout'
    expect(await toolcrib('search', 'rain')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('weather.get_rain'),
      stderr: expect.stringContaining(`note stuck is not searched: ${missing}`),
    })
    expect(await toolcrib('call', 'get_rain', '{"city": "Oslo"}')).toMatchObject({ status: 0, stderr: '' })
  })

  it('say what they wait for, and how to stop it or wait less', async () => {
    configure({ weather: server(), stuck: silentServer() })
    const waiting =
      'note waiting for weather, stuck, at most 30 s; Ctrl-C stops it, --timeout <ms> shortens it\n'
    expect((await impatient('search', 'rain')).stderr).toContain(waiting)
    const doctor = await impatient('doctor', '--timeout', '400')
    expect(doctor.stderr).toBe('note waiting for weather, stuck, at most 400 ms; Ctrl-C stops it\n')
    write('chatty.mjs', CHATTY)
    configure({ chatty: { command: process.execPath, args: [path('chatty.mjs')] } })
    const call = await impatient('call', 'chatty.work', '{"total": 3}')
    const result = 'note waiting for the result of chatty.work; Ctrl-C cancels it, --timeout <ms> limits it\n'
    expect(call).toMatchObject({ status: 0, stdout: 'done\n', stderr: expect.stringContaining(result) })
    const screen = await toolcribAt(60, 'call', 'chatty.work', '{"total": 3}')
    expect(screen).not.toContain('waiting')
  })

  it('limit a call to --timeout, even while it reports progress', async () => {
    write('chatty.mjs', CHATTY)
    configure({ chatty: { command: process.execPath, args: [path('chatty.mjs')] } })
    expect(await toolcrib('call', 'chatty.work', '{"total": 1000}', '--timeout', '1500')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining(
        'did not respond within 1500 ms\nincrease the limit with --timeout <ms>',
      ),
    })
    expect(await toolcrib('call', 'chatty.work', '{"total": 5}', '--timeout', '20000')).toMatchObject({
      status: 0,
      stdout: 'done\n',
    })
  })

  it.runIf(existsSync('/proc/self'))('work without a cache folder that cannot be created', async () => {
    configure({ weather: server() })
    const listed = await toolcribWith({ XDG_CACHE_HOME: '/proc/nope' }, 'list')
    expect(listed).toMatchObject({ status: 0, stdout: expect.stringContaining('weather.get_rain') })
  })
})

/** A server whose tool reports progress every 50 ms, as many times as requested. */
const CHATTY = `
import { createInterface } from 'node:readline'
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'chatty', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [{ name: 'work', description: '', inputSchema: { type: 'object' } }] }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'tools/call') return work(id, params._meta?.progressToken, params.arguments.total)
  if (answers[method]) send({ id, result: answers[method](params) })
  else send({ id, error: { code: -32601, message: 'no such method' } })
}).on('close', () => process.exit())
function work(id, progressToken, total) {
  let progress = 0
  const timer = setInterval(() => {
    progress++
    send({ method: 'notifications/progress', params: { progressToken, progress, total } })
    if (progress < total) return
    clearInterval(timer)
    send({ id, result: { content: [{ type: 'text', text: 'done' }] } })
  }, 50)
}
`
