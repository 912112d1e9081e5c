import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { useCommandLine } from './cli-folder.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'
import { childrenOf, useServe } from './serve.fixture.ts'

// The gateway is a process of its own, with servers as processes behind it.
vi.setConfig({ testTimeout: 60_000 })

const { toolcrib, start, configure } = useCommandLine()
const serve = useServe({ start })

const THINKING = { command: process.execPath, args: [referenceServer('sequential-thinking')] }
const MODERN = {
  command: process.execPath,
  args: [join(import.meta.dirname, 'fixtures', 'modern-server.mjs')],
}

describe('commands while a gateway is running', () => {
  let startedServers: () => number[]
  beforeEach(async () => {
    configure({ thinking: THINKING, modern: MODERN, broken: { command: 'no-such-program' } })
    const { pid } = await serve()
    startedServers = () => childrenOf(pid, process.execPath)
  })

  const think = async () => {
    const { stdout } = await toolcrib(
      'call',
      'thinking.sequentialthinking',
      '{"thought": "hm", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 3}',
    )
    return JSON.parse(stdout).thoughtHistoryLength
  }

  it('use its servers, whose state survives between two calls', async () => {
    expect([await think(), await think()]).toEqual([1, 2])
    // A server of the stateless revision, which grows a tool.
    expect((await toolcrib('call', 'modern.grow')).stdout).toBe('grown\n')
    expect((await toolcrib('call', 'modern.late')).stdout).toBe('late\n')
    const started = startedServers()
    expect(started).toHaveLength(2)

    const listed = (await toolcrib('list', '--refresh', '--json')).json()
    expect(listed.servers).toMatchObject([
      { server: 'thinking', state: 'ready', tools: [{ name: 'mcp__thinking__sequentialthinking' }] },
      { server: 'modern', state: 'ready' },
      { server: 'broken', state: 'failed', reason: expect.stringContaining('no-such-program') },
    ])
    expect((await toolcrib('search', 'add', 'numbers')).stdout).toContain('modern.add')
    expect((await toolcrib('stats', '--json')).json().total_registered).toBe(listed.tools)
    const { servers } = (await toolcrib('doctor', '--json')).json()
    expect(servers.map(({ state }: { state: string }) => state)).toEqual(['ready', 'ready', 'failed'])
    expect(startedServers()).toEqual(started)
    expect(await think()).toBe(3)
    const logged = (await toolcrib('logs')).stdout
    expect(logged).toMatch(/ info {2}modern call modern\.grow: ok, \d+ ms\n/)
    expect(logged.match(/call thinking\.sequentialthinking: ok/g)).toHaveLength(3)
    const refused = await toolcrib('call', 'broken.anything')
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('no-such-program') })
  })

  it('restart a server, which forgets its state, and say how it went', async () => {
    expect([await think(), await think()]).toEqual([1, 2])
    // A program that is not there is a process of this one for a moment.
    await vi.waitFor(() => expect(startedServers()).toHaveLength(2), { timeout: 20_000 })
    const before = startedServers()
    const { status, stdout } = await toolcrib('restart', 'thinking')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^restarted thinking in the gateway at http:.*\/mcp\n$/)
    expect(startedServers().filter((pid) => before.includes(pid))).toHaveLength(before.length - 1)
    expect(await think()).toBe(1)
    const failed = await toolcrib('restart', 'broken', 'thinking')
    expect(failed.status).toBe(1)
    expect(failed.stdout).toMatch(
      /failed broken in .*: command "no-such-program" not found; install no-such-program/,
    )
    expect(await toolcrib('restart', 'thinkin')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('did you mean "thinking"?'),
    })
  })

  it('end a server that was approved and is disabled, without a word about its approval', async () => {
    expect((await toolcrib('lock')).status).toBe(1)
    await toolcrib('disable', 'thinking')
    await vi.waitFor(
      async () => expect((await toolcrib('status', '--json')).json().servers).toHaveLength(2),
      { timeout: 20_000 },
    )
    expect((await toolcrib('logs')).stdout).not.toMatch(/thinking.*not in toolcrib\.lock/)
    await toolcrib('enable', 'thinking')
    await vi.waitFor(async () => expect(await think()).toBe(1), { timeout: 20_000 })
  })
})

describe('commands without a gateway', () => {
  it('check just the servers that are named, and have none to restart', async () => {
    configure({ thinking: THINKING, broken: { command: 'no-such-program' } })
    const { status, stdout } = await toolcrib('doctor', 'thinking')
    expect(status).toBe(0)
    expect(stdout).toContain('Servers: 1 of 1 ready')
    expect(stdout).not.toContain('broken')
    await toolcrib('lock')
    expect((await toolcrib('doctor', 'thinking', '--json')).json().lockfile.changes).toEqual([])
    expect(await toolcrib('doctor', 'thinkin')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('did you mean "thinking"?'),
    })
    expect(await toolcrib('restart', 'thinking')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /no gateway is running .*; there is nothing to restart; try .*doctor thinking"/,
      ),
    })
  })
})
