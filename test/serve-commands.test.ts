import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useCommandLine } from './cli-folder.fixture.ts'
import { referenceServer } from './mcp/reference-servers.fixture.ts'

// The gateway is a process of its own, with servers as processes behind it.
vi.setConfig({ testTimeout: 60_000 })

const { toolcrib, start, configure } = useCommandLine()

const THINKING = { command: process.execPath, args: [referenceServer('sequential-thinking')] }
const MODERN = {
  command: process.execPath,
  args: [join(import.meta.dirname, 'fixtures', 'modern-server.mjs')],
}

describe('commands while a gateway is running', () => {
  let gateway: ChildProcess
  beforeEach(async () => {
    configure({ thinking: THINKING, modern: MODERN, broken: { command: 'no-such-program' } })
    const { child } = start(['serve', '--port', '0', '--json'])
    gateway = child
    if (child.stdout) await once(createInterface({ input: child.stdout }), 'line')
  })
  afterEach(async () => {
    if (gateway.exitCode !== null || gateway.signalCode !== null) return
    gateway.kill('SIGTERM')
    await once(gateway, 'close')
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
    const refused = await toolcrib('call', 'broken.anything')
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('no-such-program') })
  })

  function startedServers(): number[] {
    const processes = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    const rows = processes
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
    return rows.flatMap(([pid = 0, parent]) => (parent === gateway.pid ? [pid] : []))
  }
})
