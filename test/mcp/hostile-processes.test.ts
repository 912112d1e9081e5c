import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { HostilePair } from './hostile-pair.fixture.ts'

// Hosts are processes of their own, and read hundreds of megabytes.
vi.setConfig({ testTimeout: 60_000 })

const isLinux = process.platform === 'linux'

describe('the processes of a hostile server, and the memory it takes', () => {
  let pair = new HostilePair()

  beforeEach(() => {
    pair = new HostilePair()
  })

  afterEach(() => pair[Symbol.asyncDispose]())

  it('that has just died is gone with its children once it is closed', async () => {
    await pair.connect()
    await pair.call('mcp__hostile__grandchild')
    expect(await pair.idlers()).toHaveLength(1)
    await pair.call('mcp__hostile__die')
    await pair.servers?.close()
    expect(await pair.processes()).toEqual([])
  })

  it('leaves no grandchildren when it is killed or closed', async () => {
    await pair.connect()
    await pair.call('mcp__hostile__grandchild')
    await pair.call('mcp__calm__grandchild')
    expect(await pair.idlers()).toHaveLength(2)
    await pair.call('mcp__hostile__die')
    await expect.poll(() => pair.idlers()).toHaveLength(1)
    await pair.servers?.close()
    expect(await pair.processes()).toEqual([])
  })

  it.runIf(isLinux)('leaves no processes that left its process group', async () => {
    await pair.connect()
    await pair.call('mcp__hostile__daemon')
    await pair.call('mcp__calm__daemon')
    expect(await pair.idlers()).toHaveLength(2)
    await pair.call('mcp__hostile__die')
    await expect.poll(() => pair.idlers()).toHaveLength(1)
    await pair.servers?.close()
    expect(await pair.processes()).toEqual([])
  })

  it('leaves no processes when its host is killed', async () => {
    const calls = isLinux ? ['grandchild', 'daemon'] : ['grandchild']
    const host = pair.startHost(calls)
    await host.untilSaid('ready')
    expect(await pair.idlers()).toHaveLength(calls.length)
    host.child.kill('SIGKILL')
    await expect.poll(() => pair.processes(), { timeout: 10_000 }).toEqual([])
  })

  it("does not exhaust the host's memory by floods of junk, of stderr or of one line", async () => {
    const floods = ['junk_flood', 'stderr_flood', 'huge', 'huge_id_last', 'endless_line:100']
    const oddities = ['list_changed_flood', 'deep', 'proto_keys', 'broken_utf8', 'malformed_error', 'twice']
    const host = pair.startHost([...floods, ...oddities, 'echo', '--exit'])
    const said = await host.untilSaid('done')
    expect(said.answers).toMatchObject([
      { ok: true },
      { ok: true },
      { ok: false, code: 'execution_failed' },
      { ok: false, code: 'execution_failed' },
      { ok: false },
      { ok: true },
      { ok: false, code: 'execution_failed' },
      { ok: false, code: 'execution_failed' },
      { ok: false, code: 'execution_failed' },
      { ok: false, code: 'execution_failed' },
      { ok: true },
      { ok: true },
    ])
    expect(said.peakMegabytes).toBeLessThan(256)
    await host.ended
  })

  it("does not exhaust the host's memory by an endless list", async () => {
    const host = pair.startHost(['--mode=heavy-pages', '--exit'])
    const said = await host.untilSaid('done')
    expect(said.tools).toBe(0)
    expect(said.peakMegabytes).toBeLessThan(256)
    await host.ended
  })

  it("uses little of the host's memory with 10,000 tools, of which 2,000 are used", async () => {
    const host = pair.startHost(['--tools=10000', '--exit'])
    const said = await host.untilSaid('done')
    expect(said.tools).toBe(2_000)
    expect(said.peakMegabytes).toBeLessThan(256)
    await host.ended
  })
})
