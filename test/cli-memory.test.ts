import { existsSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { openFromConfig } from '../packages/mcp/src/open-from-config.ts'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'

const { toolcrib, toolcribWith, path, environment, list, configure, server, write } = useCommandLine()

const SUN = { ...RAIN, name: 'get_sun', description: 'Tells how long the sun shone in a city.' }

beforeEach(() => {
  list(RAIN, SUN)
  configure({ weather: server() })
})

/** A conversation as chat and serve have it: a search, and a call that succeeds. */
async function converse(
  tool: string,
  query: string,
  {
    memory = true,
    env = {},
    client,
  }: { memory?: boolean; env?: Record<string, string>; client?: string } = {},
): Promise<void> {
  const { registry, servers, close } = await openFromConfig({ env: environment(env), cwd: path(), memory })
  await servers.ready({ timeoutMs: 20_000 })
  const own = registry.memory
  const ofClient = client === undefined ? own : own?.of(`${own.owner}/${client}`)
  const session = await registry.openSession({ mode: 'lazy', ...(ofClient ? { memory: ofClient } : {}) })
  const calls = [
    ['tool_search', { query }],
    [tool, { city: 'Oslo' }],
  ] as const
  for (const [name, args] of calls) {
    const [answer] = await session.execute([{ toolCallId: '1', name, args }])
    expect(answer?.result).toMatchObject({ ok: true })
  }
  await session.close()
  await close()
}

describe('toolcrib memory', () => {
  it('shows, exports and forgets what was learned, without the words of requests', async () => {
    expect((await toolcrib('memory')).stdout).toContain('Nothing is remembered')
    await converse('mcp__weather__get_rain', 'was it wet in the garden')
    const shown = await toolcrib('memory')
    expect(shown.stdout).toMatch(/1 tool for 1 request[\s\S]*weather\.get_rain +1 +\d{4}-\d\d-\d\d/)
    const exported = await toolcrib('memory', '--json')
    expect(exported.json()).toMatchObject({
      memory: true,
      episodes: [{ tool: 'mcp__weather__get_rain', source: 'mcp:weather', count: 1 }],
    })
    expect(exported.stdout).not.toContain('garden')
    const found = await toolcrib('search', 'was the garden wet', '--json')
    expect(found.json().matches[0].reasons).toContain('served a similar request before')

    expect(await toolcrib('memory', '--forget-tool', 'weather.get_sun')).toMatchObject({ status: 1 })
    expect(await toolcrib('memory', '--forget-tool', 'weather.get_rain')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Forgot 1 request.'),
    })
    expect((await toolcrib('memory', '--json')).json().episodes).toEqual([])
    await converse('mcp__weather__get_rain', 'was it wet in the garden')
    expect((await toolcrib('memory', '--forget-server', 'weather', '--json')).json()).toEqual({
      forgotten: 1,
    })
    // Clients of a gateway that have tokens of their own.
    await converse('mcp__weather__get_rain', 'was it wet in the garden', { client: 'laptop' })
    expect((await toolcrib('memory')).stdout).toMatch(/1 tool for 1 request[\s\S]*weather\.get_rain/)
    expect((await toolcrib('memory', '--forget-all', '--json')).json()).toEqual({ forgotten: 1 })
    expect((await toolcrib('memory', '--forget-all')).stdout).toContain('Nothing was remembered')
    expect((await toolcrib('memory', '--forget-all', '--forget-server', 'x')).status).toBe(2)
  })

  it('is off by one line, which no other config can undo', async () => {
    write('off.toml', `[tools]\nmemory = false\n[server.weather]\ncommand = "${server().command}"\n`)
    const { stderr, stdout } = await toolcrib('memory', '--config', path('off.toml'))
    expect(stderr).toContain('memory is off')
    expect(stdout).toContain('Nothing is remembered')
    const off = environment({ TOOLCRIB_MEMORY: 'false' })
    const opened = await openFromConfig({ env: off, cwd: path(), memory: true, servers: () => false })
    expect(opened.registry.memory).toBeUndefined()
    await opened.close()
    expect((await toolcribWith({ TOOLCRIB_MEMORY: 'false' }, 'memory', '--json')).json().memory).toBe(false)
  })

  it('is off in the library unless it is asked for, and keeps text only if told', async () => {
    await converse('mcp__weather__get_rain', 'was it wet in the garden', { memory: false })
    expect(existsSync(path('home', '.local', 'state', 'toolcrib', 'memory'))).toBe(false)
    const env = { TOOLCRIB_MEMORY_TEXT: 'true' }
    await converse('mcp__weather__get_rain', 'was it wet in the garden', { env })
    expect((await toolcrib('memory')).stdout).toContain('was it wet in the garden')
  })
})
