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
})
