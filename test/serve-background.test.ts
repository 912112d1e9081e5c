import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, inject, it, vi } from 'vitest'
import { runCommandLine } from '../packages/toolcrib/src/command-line.ts'
import { fakeTerminal } from '../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'
import { isRunning } from './serve.fixture.ts'

vi.setConfig({ testTimeout: 60_000 })

const { path, environment, toolcrib, start, list, configure, server } = useCommandLine()
const program = { name: 'toolcrib', command: process.execPath, args: [inject('commandLine')] }

async function run(args: readonly string[], more: Record<string, string> = {}) {
  const { terminal, stdout, stderr } = fakeTerminal({ env: environment(more), cwd: path(), program })
  const status = await runCommandLine(args, terminal)
  return { status, stdout: stdout(), stderr: stderr(), json: () => JSON.parse(stdout()) }
}

describe('toolcrib serve --background', () => {
  it('starts a gateway that outlives the command, and whose token lasts', async () => {
    list(RAIN)
    configure({ weather: server() })
    const started = await run(['serve', '--background', '--port', '0', '--json'])
    const { url, pid, token, log } = started.json()
    expect(started.json()).toMatchObject({ started: true, page: expect.stringContaining('#token=') })
    await vi.waitFor(() => expect(readFileSync(log, 'utf8')).not.toBe(''), { timeout: 5_000 })
    expect((await toolcrib('status', '--json')).json()).toMatchObject({ pid, url })
    const again = await run(['serve', '--background'])
    expect(again.stdout).toBe(
      `a gateway of this config is running already, at ${url} (pid ${pid})\n  Page  ${new URL('/', url)}\n`,
    )
    expect((await toolcrib('call', 'weather.get_rain', 'city=Oslo')).stdout).toBe('get_rain ran\n')
    expect((await toolcrib('stop')).status).toBe(0)
    expect(isRunning(pid)).toBe(false)

    const next = await run(['serve', '--background', '--port', '0'])
    expect(next.stdout).toMatch(/^started a gateway in the background \(pid \d+\)\n {2}URL {3}http:.*\/mcp\n/)
    // Output that others may read has no secret.
    expect(next.stdout).not.toContain('#token')
    await toolcrib('stop')
    const last = (await run(['serve', '--background', '--port', '0', '--json'])).json()
    expect(last.token).toBe(token)
    await toolcrib('stop')
  })

  it('says why the gateway did not start', async () => {
    configure({ weather: server() })
    const failed = await run(['serve', '--background', '--no-token', '--host', '0.0.0.0'])
    expect(failed).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('--no-token is for loopback addresses'),
    })
    expect((await run(['serve', '--background', '--stdio'])).status).toBe(2)
  })
})

describe('toolcrib tour', () => {
  it('opens the page on the servers of the user or, without any, on two from npm', async () => {
    const script = (name: string, text: string) =>
      writeFileSync(path('bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    mkdirSync(path('bin'))
    script('browser', `echo "$1" > ${path('opened.txt')}`)
    script('npx', `exec "${process.execPath}" "${referenceServer('memory')}"`)
    const env = environment({ PATH: `${path('bin')}:${process.env.PATH}`, BROWSER: path('bin', 'browser') })
    for (const [servers, stderr] of [
      [['everything', 'memory'], 'you have no servers yet'],
      [['weather'], ''],
    ] as const) {
      const { child, ended } = start(['tour', '--json'], { env })
      await vi.waitFor(() => expect(readFileSync(path('opened.txt'), 'utf8')).toContain('#token='), 20_000)
      const { origin, hash } = new URL(readFileSync(path('opened.txt'), 'utf8').trim())
      const headers = { authorization: `Bearer ${hash.slice('#token='.length)}` }
      const overview = (await (await fetch(`${origin}/api/servers`, { headers })).json()) as object
      for (const server of servers) expect(JSON.stringify(overview)).toContain(`"${server}"`)
      child.kill()
      expect(await ended).toMatchObject({ status: 0, stderr: expect.stringContaining(stderr) })
      rmSync(path('opened.txt'))
      list(RAIN)
      configure({ weather: server() })
    }
  })
})

describe.runIf(process.platform === 'linux')('toolcrib autostart', () => {
  const unit = () => path('home', '.config', 'systemd', 'user', 'toolcrib.service')
  const calls = () => readFileSync(path('calls.txt'), 'utf8').split('\n').filter(Boolean)
  const withSystem = (exitCode = 0) => {
    mkdirSync(path('bin'), { recursive: true })
    const script = `#!/bin/sh\necho "$@" >> ${path('calls.txt')}\necho "no bus" >&2\nexit ${exitCode}\n`
    writeFileSync(path('bin', 'systemctl'), script, { mode: 0o755 })
    return { PATH: `${path('bin')}:${process.env.PATH}` }
  }

  it('writes, shows and undoes what the system runs at login', async () => {
    configure({ weather: server() })
    const env = withSystem()
    const shown = await run(['autostart', 'on', '--dry-run'], env)
    expect(shown.status).toBe(0)
    expect(shown.stdout).toContain('  then: systemctl --user enable --now toolcrib.service\n')
    expect(shown.stdout).toContain('nothing was written')
    expect(existsSync(unit())).toBe(false)
    expect((await run(['autostart', 'on'], env)).status).toBe(1)
    expect((await run(['autostart', 'on', '--yes'], env)).status).toBe(0)
    expect(readFileSync(unit(), 'utf8')).toContain(
      `"${inject('commandLine')}" "serve" "--config" "${path('.mcp.json')}"`,
    )
    expect((await run(['autostart', 'status'], env)).stdout).toContain(
      `autostart is on: the systemd user unit ${unit()}`,
    )
    expect((await run(['autostart', 'off', '--yes'], env)).status).toBe(0)
    expect(existsSync(unit())).toBe(false)
    expect(calls()).toEqual([
      '--user daemon-reload',
      '--user enable --now toolcrib.service',
      '--user disable --now toolcrib.service',
      '--user daemon-reload',
    ])
    expect((await run(['autostart', 'off'], env)).stdout).toBe('autostart is off already\n')
  })

  it('leaves nothing behind where the system refuses', async () => {
    configure({ weather: server() })
    const { status, stderr } = await run(['autostart', 'on', '--yes'], withSystem(1))
    expect(status).toBe(1)
    expect(stderr).toContain('autostart is not on: "systemctl --user daemon-reload" failed: no bus')
    expect(existsSync(unit())).toBe(false)
  })
})
