import { describe, expect, it, vi } from 'vitest'
import { scheduleInBackground } from '../../packages/core/src/time.ts'
import type { ConnectOptions } from '../../packages/mcp/src/index.ts'
import { HostilePair, WELL } from './hostile-pair.fixture.ts'

describe('a hostile server that floods', () => {
  it('whose list changes 20,000 times at once is listed only a few times', async () => {
    await using pair = new HostilePair()
    await pair.connect()
    await pair.call('mcp__hostile__list_changed_flood')
    await pair.call('mcp__hostile__change_tools')
    await vi.waitFor(() => expect(pair.registry.has('mcp__hostile__newcomer')).toBe(true), {
      timeout: 15_000,
    })
    const lists = await pair.call('mcp__hostile__lists')
    expect(lists.ok && Number(lists.value)).toBeLessThan(6)
  })
})

// Many of these wait: together they take as long as the longest.
describe.concurrent('a hostile server and its list', () => {
  it.each([
    ['die-listing', 20_000, 'it was killed by SIGKILL'],
    ['late-crash', 20_000, 'it exited with code 3'],
    ['hang-start', 600, 'it did not connect within 600 ms'],
    ['hang-listing', 600, 'it did not connect within 600 ms'],
    ['endless-pages', 600, 'it did not connect within 600 ms'],
  ])(
    'that never lists its tools because of %s fails, and does not delay a search',
    async (mode, connect_timeout_ms, reason) => {
      await using pair = new HostilePair()
      const opened = pair.open([`--mode=${mode}`], { connect_timeout_ms })
      const found = await pair.registry.search('echo')
      expect(found.matches.map(({ name }) => name)).toEqual(['mcp__calm__echo'])
      expect(found.servers).toMatchObject([
        { server: 'hostile', state: 'failed', reason: expect.stringContaining(reason) },
      ])
      expect(opened.status()).toMatchObject([{ state: 'failed' }, { state: 'ready' }])
      expect(await pair.echo('calm')).toMatchObject(WELL)
    },
  )

  it('that greets with nonsense fails with a short reason', async () => {
    await using pair = new HostilePair()
    const opened = pair.open(['--mode=nonsense'])
    await opened.ready()
    expect(opened.status()[0]).toMatchObject({
      reason: 'Invalid result for initialize: serverInfo: Invalid input: expected object, received number',
    })
  })

  it('that dies while its list is read again keeps its tools, and restarts for the next call', async () => {
    await using pair = new HostilePair()
    await pair.connect()
    await pair.call('mcp__hostile__die_at_next_list')
    await vi.waitFor(() => expect(pair.servers?.status()[0]?.state).toBe('failed'), { timeout: 5_000 })
    expect(pair.registry.has('mcp__hostile__echo')).toBe(true)
    await pair.expectWell('hostile')
  })

  it('that crashes at startup trips the circuit breaker, with its last output', async () => {
    await using pair = new HostilePair()
    await pair
      .open(['--mode=crash'], { connect_timeout_ms: 200_000 }, FAST_TIME)
      .ready({ timeoutMs: 300_000 })
    const failed = () =>
      pair.events.filter(({ type, server }) => type === 'server-state' && server === 'hostile')
    const [status] = pair.servers?.status() ?? []
    expect(status).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('cannot find my settings'),
    })
    expect(await pair.echo('calm')).toMatchObject(WELL)
    await expect(
      waitUntil(() => pair.servers?.client('hostile'), /failed too often, next attempt in/),
    ).resolves.toBeUndefined()
    const before = failed().length
    await expect(pair.servers?.client('hostile')).rejects.toMatchObject({ code: 'source-unavailable' })
    expect(failed()).toHaveLength(before)
  })

  it('whose tools change mid-session is listed again, and replaced atomically', async () => {
    await using pair = new HostilePair()
    await pair.connect()
    expect(pair.registry.has('mcp__hostile__newcomer')).toBe(false)
    await pair.call('mcp__hostile__change_tools')
    await vi.waitFor(() => expect(pair.registry.has('mcp__hostile__newcomer')).toBe(true), { timeout: 5_000 })
    expect(await pair.echo('hostile')).toMatchObject(WELL)
  })

  it.each([
    ['2,000 tools in pages is listed to the end', 2_000],
    ['10,000 tools in pages is cut after 2,000', 10_000],
  ])('with %s', async (_what, count) => {
    await using pair = new HostilePair()
    await pair.connect(`--tools=${count}`)
    expect(pair.registry.listSchemas().filter(({ mcpServer }) => mcpServer === 'hostile')).toHaveLength(2_000)
  })

  it('that repeats a cursor is listed once', async () => {
    await using pair = new HostilePair()
    await pair.connect('--mode=loop')
    const names = pair.registry
      .listSchemas()
      .flatMap(({ name, mcpServer }) => (mcpServer === 'hostile' ? [name] : []))
    expect(names).toEqual(['mcp__hostile__at-again', 'mcp__hostile__at-start'])
    expect(pair.events).toContainEqual(
      expect.objectContaining({
        type: 'server-warning',
        warning: expect.stringContaining('repeats a cursor'),
      }),
    )
  })

  it('with bad tools in its list keeps the good ones, and each bad one is reported', async () => {
    await using pair = new HostilePair()
    await pair.connect('--mode=bad-tools')
    expect(pair.registry.has('mcp__hostile__good')).toBe(true)
    expect(pair.registry.has('mcp__hostile__fine')).toBe(true)
    expect(pair.events.filter(({ type }) => type === 'tool-invalid')).toHaveLength(3)
  })
})

/** Time that passes ten times as fast, for pauses between restarts. */
const FAST_TIME: ConnectOptions = {
  clock: () => Date.now() * 10,
  schedule: (delayMs, fire) => scheduleInBackground(delayMs / 10, fire),
}

/** Retries until the result is an error with this text. */
async function waitUntil(ask: () => Promise<unknown> | undefined, text: RegExp): Promise<void> {
  for (;;) {
    const message = await ask()?.then(
      () => '',
      (error: Error) => error.message,
    )
    if (message !== undefined && text.test(message)) return
  }
}
