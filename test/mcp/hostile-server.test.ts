import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import manifest from '../../package.json'
import {
  type ConnectedServers,
  type ConnectOptions,
  connectServers,
  type McpEvent,
} from '../../src/mcp/index.ts'
import type { ToolResult } from '../../src/tool.ts'
import { ToolRegistry } from '../../src/tool-registry.ts'
import { HOSTILE_SERVER, script } from './reference-servers.ts'

const isLinux = process.platform === 'linux'
const HOST = fileURLToPath(new URL('./host.ts', import.meta.url))

describe('a hostile server', () => {
  let marker = ''
  let registry = new ToolRegistry()
  let servers: ConnectedServers | undefined
  let events: McpEvent[] = []
  const hosts: ChildProcess[] = []

  beforeEach(() => {
    marker = `--marker=${randomUUID()}`
    registry = new ToolRegistry()
    events = []
  })

  afterEach(async () => {
    await servers?.close()
    for (const host of hosts.splice(0)) host.kill('SIGKILL')
    await expect.poll(() => processesOf(marker), { timeout: 5_000 }).toEqual([])
  })

  async function connect(...args: string[]): Promise<ConnectedServers> {
    const opened = open(args)
    await opened.ready()
    return opened
  }

  function open(
    args: readonly string[],
    settings: object = {},
    options: ConnectOptions = {},
  ): ConnectedServers {
    const hostile = { ...script(HOSTILE_SERVER, marker, ...args), timeout_ms: 1_000, ...settings }
    const calm = { ...script(HOSTILE_SERVER, marker), timeout_ms: 20_000 }
    servers = connectServers(
      registry,
      { mcpServers: { hostile, calm } },
      { onEvent: (event) => events.push(event), ...options },
    )
    return servers
  }

  async function call(name: string, args: unknown = {}, signal?: AbortSignal): Promise<ToolResult> {
    const context = { sessionId: 's', ...(signal ? { signal } : {}) }
    const [answer] = await registry.executeParallel([{ toolCallId: 'c', name, args }], context)
    if (!answer) throw new Error('no answer')
    return answer.result
  }

  const echo = (server: string, args: object = {}) => call(`mcp__${server}__echo`, { text: 'well', ...args })
  const WELL = { ok: true, value: 'well' }

  /** The server is of use again, or was all along: its next call is answered, and not after a long pause. */
  async function expectWell(server: string): Promise<void> {
    const tooLate = new Promise((resolve) => setTimeout(resolve, 2_000, 'no answer within two seconds'))
    expect(await Promise.race([echo(server), tooLate])).toMatchObject(WELL)
  }

  it.each([
    ['hang', { code: 'timeout', error: expect.stringContaining('did not answer within 1000 ms') }],
    [
      'huge',
      { code: 'execution_failed', error: expect.stringContaining('bytes, where 16777216 is the most') },
    ],
    ['huge_id_last', { code: 'execution_failed', error: expect.stringContaining('ask it for less') }],
    ['endless_line', { code: 'timeout' }],
    ['stray', { code: 'timeout' }],
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
  ])('that answers with %s fails that call alone', async (tool, failure) => {
    await connect()
    const [bad, sibling, other] = await Promise.all([
      call(`mcp__hostile__${tool}`),
      echo('hostile', { afterMs: 300 }),
      echo('calm'),
    ])
    expect(bad).toMatchObject({ ok: false, ...failure })
    expect(sibling).toMatchObject(WELL)
    expect(other).toMatchObject(WELL)
    await expectWell('hostile')
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  it.each([
    ['junk', 'after junk'],
    ['twice', 'first'],
    ['list_changed_flood', 'told'],
  ])('that sends %s is got over', async (tool, value) => {
    await connect()
    const [answer, sibling, other] = await Promise.all([
      call(`mcp__hostile__${tool}`),
      echo('hostile', { afterMs: 100 }),
      echo('calm'),
    ])
    expect(answer).toMatchObject({ ok: true, value })
    expect([sibling, other]).toMatchObject([WELL, WELL])
    await expectWell('hostile')
  })

  it.each([
    ['junk_flood', 'after the flood'],
    ['stderr_flood', 'after the noise'],
  ])('that lets loose a %s of 200 MB delays nobody for good', async (tool, value) => {
    await open([], { timeout_ms: 15_000 }).ready()
    const [answer, sibling, other] = await Promise.all([
      call(`mcp__hostile__${tool}`, { megabytes: 200 }),
      echo('hostile', { afterMs: 100 }),
      echo('calm'),
    ])
    expect(answer).toMatchObject({ ok: true, value })
    expect([sibling, other]).toMatchObject([WELL, WELL])
    await expectWell('hostile')
  })

  it('that asks and asks, and reads no answer, is ended, and is back for the next call', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    await open([], { timeout_ms: 15_000 }).ready()
    const [flood, other] = await Promise.all([call('mcp__hostile__deaf_ping_flood'), echo('calm')])
    expect(flood).toMatchObject({
      ok: false,
      code: 'execution_failed',
      error: expect.stringContaining('it does not read what it is sent'),
    })
    expect(other).toMatchObject(WELL)
    await expectWell('hostile')
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it('whose list changes 20,000 times at once is asked for it but a few times', async () => {
    await connect()
    await call('mcp__hostile__list_changed_flood')
    await call('mcp__hostile__change_tools')
    await expect.poll(() => registry.has('mcp__hostile__newcomer'), { timeout: 5_000 }).toBe(true)
    const lists = await call('mcp__hostile__lists')
    expect(lists.ok && Number(lists.value)).toBeLessThan(6)
  })

  it('is warned of for its junk', async () => {
    await connect()
    await call('mcp__hostile__junk')
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'server-warning', warning: expect.stringContaining('starting up...') }),
    )
  })

  it.each([
    ['die', 'it was ended by SIGKILL'],
    ['exit', 'it exited with code 7'],
  ])('that goes away by %s fails its calls at once, and is back for the next', async (tool, reason) => {
    await connect()
    const [first, sibling, other] = await Promise.all([
      call(`mcp__hostile__${tool}`),
      call('mcp__hostile__hang'),
      echo('calm', { afterMs: 100 }),
    ])
    const gone = { ok: false, code: 'execution_failed', error: expect.stringContaining(reason) }
    expect([first, sibling]).toMatchObject([gone, gone])
    expect(other).toMatchObject(WELL)
    expect(servers?.status()[0]).toMatchObject({ state: 'failed', reason })
    await expectWell('hostile')
    expect(servers?.status()[0]).toMatchObject({ state: 'ready' })
  })

  it('that has just died is gone with all it started once it is closed', async () => {
    await connect()
    await call('mcp__hostile__grandchild')
    expect(await idlersOf(marker)).toHaveLength(1)
    await call('mcp__hostile__die')
    await servers?.close()
    expect(await processesOf(marker)).toEqual([])
  })

  it('that is stuck for good is ended, and started anew for the next call', async () => {
    await connect()
    const [stuck, other] = await Promise.all([call('mcp__hostile__stuck'), echo('calm')])
    expect(stuck).toMatchObject({ ok: false, code: 'timeout' })
    expect(other).toMatchObject(WELL)
    expect(await echo('hostile')).toMatchObject(WELL)
  })

  it.each([
    ['die-listing', 'it was ended by SIGKILL'],
    ['late-crash', 'it exited with code 3'],
    ['hang-start', 'it was not connected within 600 ms'],
    ['hang-listing', 'it was not connected within 600 ms'],
    ['endless-pages', 'it was not connected within 600 ms'],
  ])(
    'that never gets as far as its tools, by %s, is told as failed, and a search is not held up',
    async (mode, reason) => {
      const opened = open([`--mode=${mode}`], { connect_timeout_ms: 600 })
      const found = await registry.search('echo')
      expect(found.matches.map(({ name }) => name)).toEqual(['mcp__calm__echo'])
      expect(found.servers).toMatchObject([
        { server: 'hostile', state: 'failed', reason: expect.stringContaining(reason) },
      ])
      expect(opened.status()).toMatchObject([{ state: 'failed' }, { state: 'ready' }])
      expect(await echo('calm')).toMatchObject(WELL)
    },
  )

  it('that dies while its list is read again keeps its tools, and is back for the next call', async () => {
    await connect()
    await call('mcp__hostile__die_at_next_list')
    await expect.poll(() => servers?.status()[0]?.state, { timeout: 5_000 }).toBe('failed')
    expect(registry.has('mcp__hostile__echo')).toBe(true)
    await expectWell('hostile')
  })

  it('may take back what it asks of its host', async () => {
    const asked: AbortSignal[] = []
    const prepare = (client: Client) =>
      client.setRequestHandler('sampling/createMessage', (_request, ctx) => {
        asked.push(ctx.mcpReq.signal)
        return new Promise(() => {})
      })
    await open([], {}, { client: { capabilities: { sampling: {} }, prepare } }).ready()
    expect(await call('mcp__hostile__ask')).toMatchObject({ ok: true, value: 'asked' })
    await expect.poll(() => asked.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('that crashes at start is held back by the breaker, with what it said', async () => {
    await connect('--mode=crash')
    const failed = () => events.filter(({ type, server }) => type === 'server-state' && server === 'hostile')
    const [status] = servers?.status() ?? []
    expect(status).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('cannot find my settings'),
    })
    expect(await echo('calm')).toMatchObject(WELL)
    await expect(waitUntil(() => servers?.client('hostile'), /failed too often/)).resolves.toBeUndefined()
    const before = failed().length
    await expect(servers?.client('hostile')).rejects.toMatchObject({ code: 'source-unavailable' })
    expect(failed()).toHaveLength(before)
  })

  it('whose tools change mid-session is listed anew, at once as a whole', async () => {
    await connect()
    expect(registry.has('mcp__hostile__newcomer')).toBe(false)
    await call('mcp__hostile__change_tools')
    await expect.poll(() => registry.has('mcp__hostile__newcomer'), { timeout: 5_000 }).toBe(true)
    expect(await echo('hostile')).toMatchObject(WELL)
  })

  it('with 10,000 tools in pages is listed to the end', async () => {
    await connect('--tools=10000')
    expect(registry.listSchemas().filter(({ mcpServer }) => mcpServer === 'hostile')).toHaveLength(10_000)
  })

  it('that pages in a circle is listed once round', async () => {
    await connect('--mode=loop')
    const names = registry
      .listSchemas()
      .flatMap(({ name, mcpServer }) => (mcpServer === 'hostile' ? [name] : []))
    expect(names).toEqual(['mcp__hostile__at-again', 'mcp__hostile__at-start'])
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'server-warning', warning: expect.stringContaining('circle') }),
    )
  })

  it('with bad tools in its list keeps the good ones, and each bad one is told', async () => {
    await connect('--mode=bad-tools')
    expect(registry.has('mcp__hostile__good')).toBe(true)
    expect(registry.has('mcp__hostile__fine')).toBe(true)
    expect(events.filter(({ type }) => type === 'tool-invalid')).toHaveLength(3)
  })

  it('is told who calls it', async () => {
    await connect()
    const told = await call('mcp__hostile__client')
    expect(told.ok && JSON.parse(told.value)).toEqual({ name: 'toolcrib', version: manifest.version })
  })

  it('that says how far it has come may take longer, and is heard', async () => {
    await connect()
    expect(await call('mcp__hostile__progress')).toMatchObject({ ok: true, value: 'done at last' })
    expect(events.filter(({ type }) => type === 'call-progress')).toMatchObject([
      { toolCallId: 'c', tool: 'progress', progress: 1, total: 4 },
      { progress: 2 },
      { progress: 3 },
      { progress: 4 },
    ])
  })

  it('that makes progress for ever is given up in the end, and told so', async () => {
    await connect()
    await servers?.reload({ mcpServers: { hostile: { ...script(HOSTILE_SERVER, marker), timeout_ms: 100 } } })
    await servers?.ready()
    const [endless, sibling] = await Promise.all([
      call('mcp__hostile__progress', { steps: 1_000, everyMs: 30 }),
      echo('hostile'),
    ])
    expect(endless).toMatchObject({
      ok: false,
      code: 'timeout',
      error: expect.stringContaining('within 1000 ms'),
    })
    expect(sibling).toMatchObject(WELL)
    const told = await call('mcp__hostile__cancellations')
    expect(told.ok && JSON.parse(told.value)).toHaveLength(1)
  })

  it('is told when a call is cancelled, and its late answer harms nobody', async () => {
    await connect()
    const abort = new AbortController()
    const hanging = call('mcp__hostile__hang', {}, abort.signal)
    await echo('hostile')
    abort.abort()
    expect(await hanging).toMatchObject({ ok: false, code: 'cancelled' })
    const told = await call('mcp__hostile__cancellations')
    expect(told.ok && JSON.parse(told.value)).toHaveLength(1)
  })

  it('whose structured content breaks its own schema is reported, and nothing is hidden', async () => {
    await connect()
    const result = await call('mcp__hostile__mismatch')
    expect(result).toMatchObject({ ok: true, structured: { degrees: 'many' } })
    expect(result.ok && result.value).toMatch(
      /^warm\n\[structured content does not match its schema: .*degrees/,
    )
    expect(events).toContainEqual(expect.objectContaining({ type: 'output-mismatch', tool: 'mismatch' }))
  })

  it('with blocks nobody knows has them handed on, and its _meta told', async () => {
    await connect()
    const result = await call('mcp__hostile__odd_blocks')
    expect(result).toEqual({ ok: true, value: '[hologram]', content: [{ type: 'hologram', depth: 3 }] })
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'result-meta', meta: { 'x/trace': 'abc' }, isTrusted: false }),
    )
  })

  it('takes its grandchildren with it when it is killed, and when it is closed', async () => {
    await connect()
    await call('mcp__hostile__grandchild')
    await call('mcp__calm__grandchild')
    expect(await idlersOf(marker)).toHaveLength(2)
    await call('mcp__hostile__die')
    await expect.poll(() => idlersOf(marker)).toHaveLength(1)
    await servers?.close()
    expect(await processesOf(marker)).toEqual([])
  })

  it.runIf(isLinux)('takes those with it, too, that left its process group', async () => {
    await connect()
    await call('mcp__hostile__daemon')
    await call('mcp__calm__daemon')
    expect(await idlersOf(marker)).toHaveLength(2)
    await call('mcp__hostile__die')
    await expect.poll(() => idlersOf(marker)).toHaveLength(1)
    await servers?.close()
    expect(await processesOf(marker)).toEqual([])
  })

  it('leaves nothing behind when its host is killed', async () => {
    const calls = isLinux ? ['grandchild', 'daemon'] : ['grandchild']
    const host = startHost(calls)
    await host.untilSaid('ready')
    expect(await idlersOf(marker)).toHaveLength(calls.length)
    host.child.kill('SIGKILL')
    await expect.poll(() => processesOf(marker), { timeout: 10_000 }).toEqual([])
  })

  it('takes no memory of its host by floods of junk, of stderr and of one line', {
    timeout: 60_000,
  }, async () => {
    const floods = ['junk_flood', 'stderr_flood', 'huge', 'huge_id_last', 'endless_line:100']
    const oddities = ['list_changed_flood', 'deep', 'proto_keys', 'broken_utf8', 'malformed_error', 'twice']
    const host = startHost([...floods, ...oddities, 'echo', '--exit'])
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

  it('takes no memory of its host by a list that goes on and on', async () => {
    const host = startHost(['--mode=heavy-pages', '--exit'])
    const said = await host.untilSaid('done')
    expect(said.tools).toBe(0)
    expect(said.peakMegabytes).toBeLessThan(256)
    await host.ended
  })

  it('takes little memory of its host with 10,000 tools', async () => {
    const host = startHost(['--tools=10000', '--exit'])
    const said = await host.untilSaid('done')
    expect(said.tools).toBe(10_000)
    expect(said.peakMegabytes).toBeLessThan(256)
    await host.ended
  })

  function startHost(calls: readonly string[]) {
    const child = spawn(process.execPath, ['--import', 'tsx', HOST, marker, ...calls], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    hosts.push(child)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    return {
      child,
      ended: new Promise((resolve) => child.once('exit', resolve)),
      async untilSaid(
        what: string,
      ): Promise<{ answers: ToolResult[]; tools: number; peakMegabytes: number }> {
        for (;;) {
          const { value, done } = await lines.next()
          if (done) throw new Error(`the host ended before it said ${what}`)
          const said = JSON.parse(value)
          if (said.what === what) return said
        }
      },
    }
  }
})

/** Every process whose command line bears the marker, this one's own children's children included. */
async function processesOf(marker: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid,stat,args'], { maxBuffer: 10_000_000 })
  return stdout.split('\n').filter((line) => line.includes(marker) && !/^\s*\d+ Z/.test(line))
}

/** Those of them that the server started and that do nothing by themselves. */
async function idlersOf(marker: string): Promise<string[]> {
  return (await processesOf(marker)).filter((line) => line.includes('setInterval'))
}

/** Asks until the answer is an error with this text. */
async function waitUntil(ask: () => Promise<unknown> | undefined, text: RegExp): Promise<void> {
  for (;;) {
    const message = await ask()?.then(
      () => '',
      (error: Error) => error.message,
    )
    if (message !== undefined && text.test(message)) return
  }
}
