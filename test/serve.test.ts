import { exec } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { appeared, RAIN, useCommandLine } from './cli-folder.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'
import { childrenOf, isRunning, operatorTokenOf, useServe } from './serve.fixture.ts'

// Every gateway is a process of its own, with servers as processes behind it.
vi.setConfig({ testTimeout: 60_000 })

const { path, environment, toolcrib, toolcribWith, start, write, list, server, slowServer, configure } =
  useCommandLine()
const serveWith = useServe({ start })

describe('toolcrib serve', () => {
  const serve = (...flags: string[]) => serveWith(flags)
  beforeEach(() => {
    list(RAIN)
    configure({
      weather: server(),
      files: { command: process.execPath, args: [referenceServer('filesystem'), path()] },
    })
  })
  /** Resolves once a command prints this. */
  const said = (command: string, text: RegExp) =>
    vi.waitFor(async () => expect((await toolcrib(...command.split(' '))).stdout).toMatch(text), {
      timeout: 30_000,
      interval: 200,
    })
  async function connect(url: string, token: string, mode: 'auto' | 'legacy') {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const headers = { Authorization: `Bearer ${token}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return client
  }

  async function connectStdio(...flags: string[]) {
    const client = new Client({ name: 'test', version: '1' })
    const args = [inject('commandLine'), 'serve', '--stdio', ...flags]
    const env = Object.fromEntries(
      Object.entries(environment()).filter((entry): entry is [string, string] => entry[1] !== undefined),
    )
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, env, cwd: path(), stderr: 'ignore' }),
    )
    return client
  }

  it('serves clients of both eras over HTTP, and leaves nothing running after SIGTERM', async () => {
    await toolcrib('list')
    const { child, ended, url, token, pid, version, page } = await serve('--mode', 'full')
    expect(pid).toBe(child.pid)
    const { origin } = new URL(url)
    const operator = operatorTokenOf(page)
    expect(page).toBe(`${origin}/#token=${operator}`)
    expect(operator).not.toBe(token)
    // The page needs a build, which tests do without; its API is there.
    expect((await fetch(`${origin}/`)).headers.get('content-security-policy')).toContain("script-src 'self'")
    expect((await fetch(`${origin}/api/tools`)).status).toBe(401)
    const ask = (path: string, bearer: string) =>
      fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${bearer}` } })
    for (const path of ['/api/tools', '/metrics']) expect((await ask(path, token)).status).toBe(403)
    expect((await ask('/metrics', operator)).status).toBe(200)
    expect((await ask('/mcp', operator)).status).toBe(403)
    const tools = await ask('/api/tools', operator)
    expect(JSON.stringify(await tools.json())).toContain('mcp__weather__get_rain')
    expect(version).toBe(
      JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version,
    )
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)

    for (const mode of ['auto', 'legacy'] as const) {
      const client = await connect(url, token, mode)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('weather__get_rain')
      const called = await client.callTool({ name: 'weather__get_rain', arguments: { city: 'Oslo' } })
      expect(called.content).toEqual([{ type: 'text', text: 'get_rain ran' }])
      await client.close()
    }
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
    expect((await fetch(url.replace('/mcp', '/readyz'))).status).toBe(200)

    const children = childrenOf(pid)
    expect(children.length).toBeGreaterThan(0)
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)
    expect(children.filter(isRunning)).toEqual([])
    expect((await toolcrib('logs')).stdout).toMatch(/ info {2}stopped: by a signal \(SIGTERM\)\n$/)
  })

  // Nothing can be created there, and Node's own recursive mkdir never returns.
  it.skipIf(process.platform !== 'linux')(
    'runs without folders that it can write to, and says what is missing',
    async () => {
      const folders = ['HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR']
      const env = environment(Object.fromEntries(folders.map((name) => [name, '/proc'])))
      const { child, ended, url, token } = await serveWith([], { env })
      const client = await connect(url, token, 'auto')
      const called = await client.callTool({ name: 'weather__get_rain', arguments: { city: 'Oslo' } })
      expect(called.content).toEqual([{ type: 'text', text: 'get_rain ran' }])
      await client.close()
      child.kill('SIGTERM')
      const { status, stderr } = await ended
      expect(status).toBe(0)
      expect(stderr).toContain('"status", "logs" and "stop" cannot reach this gateway')
    },
  )

  it('can be asked for its status and log, and be stopped, by commands on the same config', async () => {
    write('stderr.mjs', `console.error('API_KEY=sk-abcdef1234567890'); setInterval(() => {}, 1e6)`)
    const { child, ended, url, page, pid } = await serve()
    let printed = ''
    child.stderr?.on('data', (chunk: Buffer) => (printed += chunk))
    const status = await toolcrib('status', '--json')
    expect(status.status).toBe(0)
    expect(status.json()).toMatchObject({
      url,
      pid,
      files: [path('.mcp.json')],
      servers: [{ server: 'weather' }, { server: 'files' }],
    })
    expect((await toolcrib('status')).stdout).toContain(url)
    await said('logs weather', /info {2}weather connecting\n/)
    expect((await toolcrib('logs', 'nowhere')).status).toBe(2)

    // Servers come and go with the config; the page shows a command that changes it, wherever it is run.
    const headers = { authorization: `Bearer ${operatorTokenOf(page)}` }
    const { addCommand } = await (await fetch(new URL('/api/servers', url), { headers })).json()
    await promisify(exec)(`${addCommand} broken -- no-such-program`, { env: environment(), cwd: tmpdir() })
    await toolcrib('add', 'loud', '--', process.execPath, path('stderr.mjs'))
    await vi.waitUntil(() => printed.includes('no-such-program'), { timeout: 30_000 })
    expect(printed).toMatch(/^✗ broken: command "no-such-program" not found; install no-such-program, or/m)
    await said('logs loud', /info {2}loud stderr: API_KEY=•••\n/)
    // It is tried again every now and then, and connecting meanwhile.
    await said('status', /broken +failed\n +command .*\n +→ install no-such-program/)
    write('.mcp.json', '{"mcpServers": ')
    await vi.waitUntil(() => printed.includes('was not reloaded'), { timeout: 30_000 })
    configure({ weather: server() })
    await vi.waitUntil(async () => (await toolcrib('status', '--json')).json().servers.length === 1, {
      timeout: 30_000,
      interval: 200,
    })

    expect(await toolcrib('stop')).toMatchObject({ status: 0, stdout: `stopped the gateway at ${url}\n` })
    expect(isRunning(pid)).toBe(false)
    expect((await ended).status).toBe(0)
    const last = await toolcrib('logs')
    expect(last.stderr).toContain('this is the log of the last one')
    expect(last.status).toBe(0)
    expect(last.stdout).toMatch(/info {2}weather connecting\n/)
    expect(last.stdout).toMatch(/ info {2}stopped: by "toolcrib stop"\n$/)
    for (const command of ['status', 'logs --follow', 'stop'].map((line) => line.split(' ')))
      expect(await toolcrib(...command)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('no gateway is running'),
      })
  })

  it('says so when a gateway of the config has the port already', async () => {
    const { url } = await serve()
    const port = new URL(url).port
    const second = await toolcrib('serve', '--port', port)
    expect(second.status).toBe(1)
    expect(second.stderr).toContain(`a gateway of this config is running at ${url}`)
  })

  // What is remembered is listed at once, however long servers take to start.
  it('serves one client over stdio, in its own process with settings of its own', async () => {
    await toolcrib('list')
    const client = await connectStdio('--mode', 'full')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('weather__get_rain')
    const pid = (client.transport as StdioClientTransport).pid ?? 0
    const children = childrenOf(pid)
    await client.close()
    expect([pid, ...children].filter(isRunning)).toEqual([])
  })

  it('runs beside others of the same config, which status lists and stop ends', async () => {
    const clients = [await connectStdio('--mode', 'lazy'), await connectStdio('--mode', 'lazy')]
    const pids = clients.map(({ transport }) => (transport as StdioClientTransport).pid)
    // A client need not wait for the socket of its gateway.
    await said('status --json', /"others"/)
    const both = (await toolcrib('status', '--json')).json()
    expect([both.pid, ...both.others.map(({ pid }: { pid: number }) => pid)].sort()).toEqual(pids.sort())
    expect(both).toMatchObject({ url: null, client: 'test', servers: [{ server: 'weather' }, {}] })

    const [first, second] = [await serve(), await serve()]
    const { url, others } = (await toolcrib('status', '--json')).json()
    expect([url, ...others.map((each: { url: string | null }) => each.url)]).toEqual([
      first.url,
      second.url,
      null,
      null,
    ])
    const { stdout } = await toolcrib('stop')
    expect(stdout).toContain(`stopped the gateway at ${second.url}\n`)
    expect(stdout).toMatch(/^stopped the gateway over stdio for test \(pid \d+\)$/m)
    expect([...pids, first.pid, second.pid].filter(isRunning)).toEqual([])
    const { stderr } = await second.ended
    expect(stderr).toContain(
      `note a gateway of this config is already running at ${first.url} (pid ${first.pid}); "`,
    )
    expect(stderr).toContain(' stop" stops every gateway of this config\n')
    expect((await first.ended).stderr).not.toContain('already running')
  })

  it.each([
    ['of its own', () => undefined],
    ['that joined another', () => serve('--mode', 'full')],
  ])('lets calls over stdio finish when it is stopped, at a gateway %s', async (_, startOther) => {
    configure({ slow: slowServer() })
    await startOther()
    const client = await connectStdio('--mode', 'full')
    await vi.waitFor(async () => expect((await client.listTools()).tools).not.toEqual([]), 30_000)
    const called = client.callTool({ name: 'slow__wait', arguments: {} })
    await appeared(path('calls.txt'))
    await said('status --json', /"callsUnderWay": 1/)
    const stopped = toolcrib('stop')
    // A gateway that others could join cannot be found from then on.
    await vi.waitFor(async () => {
      const { stdout, stderr } = await toolcrib('status', '--json')
      expect(stdout + stderr).toMatch(/"state": "draining"|no gateway is running/)
    }, 30_000)
    write('calls.txt.end', '')
    expect((await called).content).toEqual([{ type: 'text', text: 'waited' }])
    expect((await stopped).status).toBe(0)
    await client.close()
  })

  it('ends at once when a client over stdio leaves, whatever is in flight', async () => {
    configure({ slow: slowServer() })
    const client = await connectStdio('--mode', 'full')
    await vi.waitFor(async () => expect((await client.listTools()).tools).not.toEqual([]), 30_000)
    const called = client.callTool({ name: 'slow__wait', arguments: {} }).catch(() => 'cancelled')
    await appeared(path('calls.txt'))
    const pid = (client.transport as StdioClientTransport).pid ?? 0
    const stopped = toolcrib('stop')
    await said('status --json', /"state": "draining"/)
    await client.close()
    expect(await called).toBe('cancelled')
    expect((await stopped).status).toBe(0)
    expect(isRunning(pid)).toBe(false)
  })

  it('shares one gateway, its servers and its page among clients over stdio, while one is connected', async () => {
    await toolcrib('list')
    const clients = await Promise.all([connectStdio(), connectStdio(), connectStdio()])
    const rain = (client: Client) =>
      client.callTool({
        name: 'call_tool',
        arguments: { name: 'weather__get_rain', arguments: { city: 'Oslo' } },
      })
    for (const client of clients)
      expect((await rain(client)).content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    const { pid, url, others } = (await toolcrib('status', '--json')).json()
    expect(others ?? []).toEqual([])
    expect(clients.map(({ transport }) => (transport as StdioClientTransport).pid)).not.toContain(pid)
    expect(childrenOf(pid).length).toBe(1)
    expect((await fetch(new URL('/healthz', url))).status).toBe(200)
    const [first, second, third] = clients
    await first?.close()
    await second?.close()
    expect(isRunning(pid)).toBe(true)
    expect(third && (await rain(third)).content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    await third?.close()
    await toolcrib('stop')
  })

  it('ends a gateway that nobody uses, and the one that was slower', async () => {
    const first = await serve('--idle', '2')
    const second = await toolcrib('serve', '--port', '0', '--idle', '2')
    expect(second).toMatchObject({ status: 1, stderr: expect.stringContaining('was faster') })
    expect((await first.ended).status).toBe(0)
  })

  it('goes on without clients once it is asked for in the background, and shows its page again', async () => {
    const first = await serve('--idle', '1')
    const kept = (await toolcrib('serve', '--background', '--json')).json()
    expect(kept).toMatchObject({ started: false, page: expect.stringContaining('#token=') })
    const status = (await toolcrib('status', '--json')).json()
    // The token is not among what scripts may log.
    expect(status).toMatchObject({ clients: 0, page: kept.page.replace(/#.*/, '') })
    writeFileSync(path('browser.sh'), `#!/bin/sh\necho "$1" > ${path('opened.txt')}\n`, { mode: 0o755 })
    const opened = await toolcribWith({ BROWSER: path('browser.sh') }, 'serve', '--open')
    expect(opened.stdout).toContain('is running already')
    await vi.waitFor(() => expect(readFileSync(path('opened.txt'), 'utf8').trim()).toBe(kept.page))
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    expect(isRunning(kept.pid)).toBe(true)
    await toolcrib('stop')
    expect((await first.ended).status).toBe(0)
  })

  it('is a door to the running gateway over stdio, and starts no server twice', async () => {
    await toolcrib('list')
    const { pid } = await serve('--mode', 'full')
    const [one, other] = [await connectStdio(), await connectStdio()]
    for (const client of [one, other]) {
      const called = await client.callTool({ name: 'weather__get_rain', arguments: { city: 'Oslo' } })
      expect(called.content).toEqual([{ type: 'text', text: 'get_rain ran' }])
    }
    for (const client of [one, other])
      expect(childrenOf((client.transport as StdioClientTransport).pid ?? 0)).toEqual([])
    // Both called the same server, and the other one is remembered.
    expect(childrenOf(pid).length).toBe(1)
    await Promise.all([one.close(), other.close()])
    expect((await toolcrib('status')).status).toBe(0)
  })

  it('keeps a token in a file and out of logs, and shows people what to do with it', async () => {
    const { child, ended } = start(['serve', '--port', '0', '--token-file', 'token'])
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    await new Promise<void>((resolve) =>
      child.stdout?.on('data', (chunk) => {
        output += chunk
        if (output.includes('Ctrl-C stops it')) resolve()
      }),
    )
    const token = readFileSync(path('token'), 'utf8').trim()
    expect(statSync(path('token')).mode & 0o777).toBe(0o600)
    const [, snippet = ''] = /For Claude Code:\n\n([\s\S]*?\n {2}\}\n)/.exec(output) ?? []
    const { toolcrib: entry } = JSON.parse(snippet).mcpServers
    expect(entry.headers).toEqual({ Authorization: 'Bearer TOKEN' })
    expect(output).toContain(entry.url)
    expect(output).toContain(`The token is in ${path('token')}; put it in place of TOKEN.`)
    expect(output).not.toContain(token)
    expect(output).not.toContain('shown once')
    child.kill('SIGINT')
    expect((await ended).status).toBe(0)
  })

  it('says that its store cannot be reached, and shows addresses that others can use', async () => {
    const env = environment({ TOOLCRIB_STORE: 'redis://:the-password@127.0.0.1:1' })
    const { child, ended, url, page } = await serveWith(['--host', '0.0.0.0', '--linger', '0'], { env })
    expect(new URL(page).hostname).toBe('127.0.0.1')
    expect(new URL(url).hostname).not.toBe('0.0.0.0')
    const ready = await fetch(new URL('/readyz', page))
    expect(await ready.json()).toEqual({ status: 'degraded', reason: 'the store cannot be used' })
    child.kill('SIGTERM')
    const { stderr } = await ended
    expect(stderr).toContain('✗ the store redis://127.0.0.1:1 cannot be used: ')
    expect(stderr).toContain('start it, or correct TOOLCRIB_STORE')
    expect(stderr).not.toContain('the-password')
    const refused = await toolcribWith({ TOOLCRIB_STORE: 'disk' }, 'serve', '--port', '0')
    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('TOOLCRIB_STORE is "disk"; '),
    })
  })

  it('refuses settings that would leave a door open, and explains others', async () => {
    for (const [flags, words] of [
      [['--no-token', '--host', '0.0.0.0'], '--no-token is for loopback addresses'],
      [['--token', 'short'], 'at least 16 characters'],
      [['--profile', 'nobody'], 'there is no profile "nobody"; the config has none'],
      [['--store', 'disk'], '--store is "disk"; it must be file: and a folder, or redis://'],
      [['--port', '70000'], 'from 0 to 65535'],
    ] as const) {
      const refused = await toolcrib('serve', '--port', '0', ...flags)
      expect(refused.status).toBe(2)
      expect(refused.stderr).toContain(words)
    }
    write('toolcrib.toml', '[server.weather]\ncommand = "x"\n[profile.work]\nservers = ["weather"]\n')
    expect((await toolcrib('serve', '--profile', 'wrok')).stderr).toContain('the config has work')
    write('toolcrib.toml', '[server.weather]\ncommand = "x"\n[profile.work]\nservers = ["wetter"]\n')
    expect((await toolcrib('serve')).stderr).toContain(
      'profile "work" names the server "wetter", which does not exist; the config has weather',
    )
  })
})
