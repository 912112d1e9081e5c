import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import manifest from '../../package.json'
import type { ServerRequest } from '../../packages/mcp/src/index.ts'
import { HostilePair, WELL } from './hostile-pair.fixture.ts'

describe('a hostile server', () => {
  const pair = new HostilePair()

  beforeAll(() => pair.open([], { timeout_ms: 20_000 }).ready())
  afterAll(() => pair[Symbol.asyncDispose]())

  it.each([
    ['huge', { code: 'execution_failed', error: expect.stringContaining('bytes (maximum 16777216)') }],
    ['huge_id_last', { code: 'execution_failed', error: expect.stringContaining('request less data') }],
    ['string_id', { code: 'execution_failed', error: expect.stringMatching(/id "\d+" instead of \d+/) }],
    ['broken_utf8', { code: 'execution_failed', error: expect.stringContaining('not valid UTF-8') }],
    ['deep', { code: 'execution_failed', error: expect.stringContaining('nested more than 512 levels') }],
    [
      'malformed_error',
      { code: 'execution_failed', error: expect.stringContaining('malformed error: "boom"') },
    ],
    ['no_result', { code: 'execution_failed', error: expect.stringContaining('has no result object') }],
    ['proto_keys', { code: 'execution_failed', error: expect.stringContaining('__proto__') }],
    ['error', { code: 'execution_failed', error: expect.stringContaining('out of paper') }],
    ['is_error', { code: 'execution_failed', error: 'no such city' }],
  ])('that responds with %s fails only that call', async (tool, failure) => {
    await expectOnlyThatCallFails(pair, tool, failure)
  })

  it.each([
    ['junk', 'after junk'],
    ['twice', 'first'],
    ['list_changed_flood', 'told'],
    ['burst', 'burst'],
  ])('that sends %s stays usable', async (tool, value) => {
    const [answer, sibling, other] = await Promise.all([
      pair.call(`mcp__hostile__${tool}`),
      pair.echo('hostile', { afterMs: 100 }),
      pair.echo('calm'),
    ])
    expect(answer).toMatchObject({ ok: true, value })
    expect([sibling, other]).toMatchObject([WELL, WELL])
    await pair.expectWell('hostile')
  })

  it.each([
    ['junk_flood', 'after the flood'],
    ['stderr_flood', 'after the noise'],
  ])('whose %s writes 200 MB does not block other calls', async (tool, value) => {
    const [answer, sibling, other] = await Promise.all([
      pair.call(`mcp__hostile__${tool}`, { megabytes: 200 }),
      pair.echo('hostile', { afterMs: 100 }),
      pair.echo('calm'),
    ])
    expect(answer).toMatchObject({ ok: true, value })
    expect([sibling, other]).toMatchObject([WELL, WELL])
    await pair.expectWell('hostile')
  })

  it('is reported for sending far too many pings', async () => {
    expect(await pair.call('mcp__hostile__ping_flood')).toMatchObject({ ok: true })
    expect(pair.events).toContainEqual(
      expect.objectContaining({
        type: 'server-warning',
        warning: expect.stringContaining('requests within'),
      }),
    )
  })

  it('is reported for invalid output', async () => {
    await pair.call('mcp__hostile__junk')
    expect(pair.events).toContainEqual(
      expect.objectContaining({ type: 'server-warning', warning: expect.stringContaining('starting up...') }),
    )
  })

  it('receives the client name', async () => {
    const told = await pair.call('mcp__hostile__client')
    expect(told.ok && JSON.parse(told.value)).toEqual({ name: 'toolcrib', version: manifest.version })
  })

  it('is notified when a call is cancelled, and its late response is ignored', async () => {
    const abort = new AbortController()
    const hanging = pair.call('mcp__hostile__hang', {}, abort.signal)
    await pair.echo('hostile')
    abort.abort()
    expect(await hanging).toMatchObject({ ok: false, code: 'cancelled' })
    const told = await pair.call('mcp__hostile__cancellations')
    expect(told.ok && JSON.parse(told.value)).toHaveLength(1)
  })

  it('whose structured content violates its own schema is reported, and nothing is hidden', async () => {
    const result = await pair.call('mcp__hostile__mismatch')
    expect(result).toMatchObject({ ok: true, structured: { degrees: 'many' } })
    expect(result.ok && result.value).toMatch(
      /^warm\n\[structured content does not match its schema: .*degrees/,
    )
    expect(pair.events).toContainEqual(expect.objectContaining({ type: 'output-mismatch', tool: 'mismatch' }))
  })

  it('with unknown blocks has them returned, and its _meta too', async () => {
    const result = await pair.call('mcp__hostile__odd_blocks')
    const content = [{ type: 'hologram', depth: 3 }]
    const meta = { 'x/trace': 'abc' }
    expect(result).toEqual({ ok: true, value: '[hologram]', content, meta })
    expect(pair.events).toContainEqual(
      expect.objectContaining({ type: 'result-meta', meta, isTrusted: false }),
    )
  })
})

// Most of these wait for a time limit: together they take as long as the longest.
describe.concurrent('a hostile server of its own', () => {
  it.each(['hang', 'endless_line', 'stray'])(
    'that responds with %s fails only that call, which times out',
    async (tool) => {
      await using pair = new HostilePair()
      await pair.connect()
      const error = expect.stringContaining('did not respond within 2000 ms')
      // Late enough for the host to have read everything before it.
      await expectOnlyThatCallFails(pair, tool, { code: 'timeout', error }, { afterMs: 1_000 })
    },
  )

  it('that floods requests and reads no responses is stopped, and restarts for the next call', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    await using pair = new HostilePair()
    await pair.open([], { timeout_ms: 15_000 }).ready()
    const [flood, other] = await Promise.all([pair.call('mcp__hostile__deaf_ping_flood'), pair.echo('calm')])
    expect(flood).toMatchObject({
      ok: false,
      code: 'execution_failed',
      error: expect.stringContaining('it does not read its input'),
    })
    expect(other).toMatchObject(WELL)
    await pair.expectWell('hostile')
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it.each([
    ['die', 'it was killed by SIGKILL'],
    ['exit', 'it exited with code 7'],
  ])('that ends by %s fails its calls at once, and restarts for the next', async (tool, reason) => {
    await using pair = new HostilePair()
    await pair.connect()
    const [first, sibling, other] = await Promise.all([
      pair.call(`mcp__hostile__${tool}`),
      pair.call('mcp__hostile__hang'),
      pair.echo('calm', { afterMs: 100 }),
    ])
    const gone = { ok: false, code: 'execution_failed', error: expect.stringContaining(reason) }
    expect([first, sibling]).toMatchObject([gone, gone])
    expect(other).toMatchObject(WELL)
    expect(pair.servers?.status()[0]).toMatchObject({ state: 'failed', reason })
    await pair.expectWell('hostile')
    expect(pair.servers?.status()[0]).toMatchObject({ state: 'ready' })
  })

  it('that hangs is stopped, and restarts for the next call', async () => {
    await using pair = new HostilePair()
    await pair.connect()
    const [stuck, other] = await Promise.all([pair.call('mcp__hostile__stuck'), pair.echo('calm')])
    expect(stuck).toMatchObject({ ok: false, code: 'timeout' })
    expect(other).toMatchObject(WELL)
    expect(await pair.echo('hostile')).toMatchObject(WELL)
  })

  it('may cancel its requests to the host', async () => {
    const asked: AbortSignal[] = []
    const onRequest = ({ signal, method }: ServerRequest) => {
      expect(method).toBe('sampling/createMessage')
      asked.push(signal)
      return new Promise(() => {})
    }
    await using pair = new HostilePair()
    await pair.open([], {}, { client: { capabilities: { sampling: {} }, onRequest } }).ready()
    expect(await pair.call('mcp__hostile__ask')).toMatchObject({ ok: true, value: 'asked' })
    await vi.waitFor(() => expect(asked.map(({ aborted }) => aborted)).toEqual([true]))
  })

  it('that reports progress may take longer, and its progress is forwarded', async () => {
    await using pair = new HostilePair()
    await pair.open([], { timeout_ms: 1_000 }).ready()
    expect(await pair.call('mcp__hostile__progress')).toMatchObject({ ok: true, value: 'done at last' })
    expect(pair.events.filter(({ type }) => type === 'call-progress')).toMatchObject([
      { toolCallId: 'c', tool: 'progress', progress: 1, total: 4 },
      { progress: 2 },
      { progress: 3 },
      { progress: 4 },
    ])
  })

  it('that reports progress forever times out in the end, and its call is cancelled', async () => {
    await using pair = new HostilePair()
    await pair.open([], { timeout_ms: 250 }).ready()
    const [endless, sibling] = await Promise.all([
      pair.call('mcp__hostile__progress', { steps: 1_000, everyMs: 30 }),
      pair.echo('hostile'),
    ])
    expect(endless).toMatchObject({
      ok: false,
      code: 'timeout',
      error: expect.stringContaining('within 2500 ms'),
    })
    expect(sibling).toMatchObject(WELL)
    const told = await pair.call('mcp__hostile__cancellations')
    expect(told.ok && JSON.parse(told.value)).toHaveLength(1)
  })
})

async function expectOnlyThatCallFails(
  pair: HostilePair,
  tool: string,
  failure: object,
  { afterMs = 100 } = {},
): Promise<void> {
  const [bad, sibling, other] = await Promise.all([
    pair.call(`mcp__hostile__${tool}`),
    pair.echo('hostile', { afterMs }),
    pair.echo('calm'),
  ])
  expect(bad).toMatchObject({ ok: false, ...failure })
  expect(sibling).toMatchObject(WELL)
  expect(other).toMatchObject(WELL)
  await pair.expectWell('hostile')
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
}
