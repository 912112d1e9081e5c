import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { memoryStore, type ToolResult } from '@toolcrib/core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ScriptCall, ScriptHost } from './script-host.ts'
import { scripts } from './scripts.ts'

/** A session with three tools; the world remembers what was written. */
class Host implements ScriptHost {
  readonly sessionId: string
  readonly signal = new AbortController().signal
  readonly isDryRun = false
  readonly isTransient = false
  readonly written: string[] = []
  answers: Awaited<ReturnType<ScriptHost['ask']>>
  onWrite = () => {}
  asked: (readonly ScriptCall[])[] = []

  constructor(sessionId = 'a') {
    this.sessionId = sessionId
  }

  resolve(path: string) {
    const name = path.split('.').at(-1) ?? ''
    if (!['read', 'note', 'cancel'].includes(name)) return { problem: `there is no tool "${path}"` }
    return {
      name,
      description: name,
      types: () => `${path}(id: string)`,
      isReadOnly: name === 'read',
      fingerprint: '1',
    }
  }

  asks(name: string): boolean {
    return name === 'cancel'
  }

  async call({ name, args }: ScriptCall, { isGranted }: { readonly isGranted: boolean }) {
    if (name === 'cancel' && !isGranted) return { isHeld: true } as const
    const { id } = args as { readonly id: string }
    if (name !== 'read') {
      this.written.push(`${name} ${id}`)
      this.onWrite()
    }
    const result: ToolResult =
      id === 'bad'
        ? { ok: false, code: 'execution_failed', error: 'no such order' }
        : { ok: true, value: `{"id":"${id}"}` }
    return { isHeld: false, result } as const
  }

  async ask(calls: readonly ScriptCall[]): ReturnType<ScriptHost['ask']> {
    this.asked.push(calls)
    return this.answers
  }

  async search() {
    const types = () => 'shop.read(id: string)'
    return [{ name: 'read', description: 'Reads.', types, isReadOnly: true, fingerprint: '1' }]
  }

  emit: ScriptHost['emit'] = () => {}
}

const KEY = new Uint8Array(32).fill(7)

const run = (code: string, host = new Host(), engine = scripts()) =>
  engine.runs.run({ code, toolCallId: '1' }, host)

describe('a script', () => {
  it('returns what it returns and prints, with a line about its calls', async () => {
    const code = `const all = await Promise.all(['1', '2', 'bad'].map((id) => tools.shop.read({ id }).catch((e) => e)))
      print('read', all.length)
      return all.filter((one) => !(one instanceof Error)).map(({ id }) => id)`
    expect(await run(code)).toMatchObject({
      ok: true,
      value: '["1","2"]\nprinted:\nread 3\n[calls: read ×3]\n[failed: read: execution_failed: no such order]',
    })
  })

  it('gets an error for a tool that does not exist', async () => {
    expect(await run('return await tools.shop.none()')).toMatchObject({
      code: 'script_failed',
      error: expect.stringContaining('ToolError (not_available): there is no tool "shop.none" at line 1'),
    })
  })

  it('may be TypeScript', async () => {
    const code =
      'interface A { id: string }\nconst a: A = await tools.shop.read({ id: "1" }) as A\nreturn a.id'
    expect(await run(code)).toMatchObject({ ok: true, value: expect.stringContaining('"1"') })
  })

  it('finds tools and their types', async () => {
    expect(await run('return [await tools.search("x"), await tools.describe("shop.read")]')).toMatchObject({
      value: expect.stringContaining('"types":"shop.read(id: string)"'),
    })
  })

  it('without code is refused with an example', async () => {
    expect(await run(' ')).toMatchObject({
      code: 'input_invalid',
      error: expect.stringContaining('return issues.length'),
    })
  })

  it('that waits for nothing ends', async () => {
    expect(await run('await new Promise(() => {})')).toMatchObject({ code: 'script_failed' })
  })

  it('says which call it did not wait for', async () => {
    const result = await run('tools.shop.cancel({ id: "1" })\nreturn 1')
    expect(result).toMatchObject({
      value: expect.stringContaining('[not run, since the script did not wait for it: cancel]'),
    })
  })
})

const CANCELS = `const read = await tools.shop.read({ id: '1' })
const done = await Promise.all(['2', '3'].map((id) => tools.shop.cancel({ id })))
await tools.shop.note({ id: 'n' })
print('noted')
return [read.id, ...done.map(({ id }) => id)]`

describe('a script that needs a person', () => {
  it('asks once for all calls that wait, and goes on', async () => {
    const host = new Host()
    host.answers = ['once', 'once']
    expect(await run(CANCELS, host)).toMatchObject({
      ok: true,
      value: '["1","2","3"]\nprinted:\nnoted\n[calls: read, cancel ×2, note]',
    })
    expect(host.asked).toMatchObject([
      [
        { name: 'cancel', args: { id: '2' } },
        { name: 'cancel', args: { id: '3' } },
      ],
    ])
    expect(host.written).toEqual(['cancel 2', 'cancel 3', 'note n'])
  })

  it('can handle a refusal', async () => {
    const host = new Host()
    host.answers = ['deny']
    const code = 'try { await tools.shop.cancel({ id: "1" }) } catch (e) { return e.code }'
    expect(await run(code, host)).toMatchObject({ ok: true, value: expect.stringContaining('"denied"') })
    expect(host.written).toEqual([])
  })

  it('pauses where nobody can be asked, and goes on in another process', async () => {
    const store = memoryStore()
    const key = new Uint8Array(32).fill(7)
    const host = new Host()
    expect(await run(CANCELS, host, scripts({ store, key }))).toMatchObject({ ok: false, code: 'paused' })
    const other = scripts({ store, key })
    const [paused] = await other.runs.paused(host)
    expect(paused).toMatchObject({
      calls: [
        { n: 2, name: 'cancel', args: { id: '2' } },
        { n: 3, name: 'cancel', args: { id: '3' } },
      ],
      source: CANCELS,
    })
    const id = paused?.run ?? ''
    expect(await other.runs.resume(id, host)).toMatchObject({ code: 'paused' })
    await other.runs.decide(id, { 2: true, 3: true }, host)
    expect(await other.runs.resume(id, host)).toMatchObject({
      ok: true,
      value: expect.stringContaining('["1","2","3"]'),
    })
    expect(host.written).toEqual(['cancel 2', 'cancel 3', 'note n'])
    expect(await other.runs.paused(host)).toEqual([])
    expect(await other.runs.resume(id, host)).toMatchObject({
      code: 'script_failed',
      error: expect.stringContaining('["1"'),
    })
    expect(host.written).toHaveLength(3)
  })

  it('runs what was granted once the rest is answered too', async () => {
    const host = new Host()
    const unanswered = { result: { ok: false, code: 'denied', error: 'ask Ada' } } as const
    host.answers = ['once', unanswered]
    const engine = scripts()
    expect(await run(CANCELS, host, engine)).toMatchObject({
      code: 'paused',
      error: expect.stringMatching(/: cancel waits[\s\S]*ask Ada/),
    })
    host.answers = ['deny']
    expect(await run(CANCELS, host, engine)).toMatchObject({ error: expect.stringContaining('denied') })
    expect(host.asked.at(-1)).toMatchObject([{ args: { id: '3' } }])
    expect(host.written).toEqual(['cancel 2'])
  })

  it('goes on when the model runs it again', async () => {
    const host = new Host()
    const engine = scripts()
    expect(await run(CANCELS, host, engine)).toMatchObject({ code: 'paused' })
    host.answers = ['session', 'session']
    expect(await run(CANCELS, host, engine)).toMatchObject({ ok: true })
    expect(host.written).toEqual(['cancel 2', 'cancel 3', 'note n'])
  })

  it('is stored without what its memory holds, and goes on only if nobody changed it', async () => {
    const store = memoryStore()
    const stored = new Map<string, Uint8Array>()
    const { set } = store
    store.set = (key, value, options) => {
      if (value instanceof Uint8Array) stored.set(key, value)
      return set.call(store, key, value, options)
    }
    const host = new Host()
    host.answers = undefined
    const code = 'const key = ["hunter", 2].join(""); await tools.shop.cancel({ id: "1" }); return key'
    const engine = scripts({ store, key: KEY })
    await run(code, host, engine)
    const [[name, image] = ['', new Uint8Array()]] = stored
    expect(Buffer.from(image).includes('hunter2')).toBe(false)
    await store.set(
      name,
      image.map((byte, at) => (at === 40 ? byte ^ 1 : byte)),
    )
    host.answers = ['once']
    expect(await run(code, host, engine)).toMatchObject({ error: expect.stringContaining('cannot be read') })
    expect(host.written).toEqual([])
  })

  it('is unknown to other sessions, and unreadable with another key', async () => {
    const store = memoryStore()
    const key = new Uint8Array(32).fill(7)
    const host = new Host()
    const engine = scripts({ store, key })
    await run(CANCELS, host, engine)
    const [paused] = await engine.runs.paused(host)
    const id = paused?.run ?? ''
    const stranger = new Host('b')
    expect(await engine.runs.paused(stranger)).toEqual([])
    expect(await engine.runs.resume(id, stranger)).toMatchObject({
      error: expect.stringContaining('no such paused script'),
    })
    await expect(engine.runs.decide(id, { 2: true }, stranger)).rejects.toMatchObject({
      code: 'config-invalid',
    })
    await engine.runs.decide(id, { 2: true, 3: true }, host)
    const others = scripts({ store, key: new Uint8Array(32).fill(8) })
    expect(await others.runs.resume(id, host)).toMatchObject({
      error: expect.stringContaining('another key'),
    })
    const rotated = scripts({ store, key: new Uint8Array(32).fill(9), formerKeys: [key] })
    expect(await rotated.runs.resume(id, host)).toMatchObject({ ok: true })
  })
})

describe('a script that is sent again', () => {
  const NOTE = 'await tools.shop.note({ id: "1" }); return "noted"'
  const repeated = (ok: boolean) =>
    ok
      ? { ok, value: expect.stringMatching(/noted[\s\S]*nothing was run again/) }
      : { ok, error: expect.stringContaining('nothing was run again') }

  it('after its end, such as by a client that lost the answer, writes nothing again', async () => {
    const host = new Host()
    const store = memoryStore()
    await run(NOTE, host, scripts({ store, key: KEY }))
    const other = scripts({ store, key: KEY })
    expect(await run(NOTE, host, other)).toMatchObject({
      ...repeated(true),
      structured: { calls: { note: 1 } },
    })
    const failing = 'await tools.shop.note({ id: "bad" })'
    expect(await run(failing, host, other)).toMatchObject({ ok: false })
    expect(await run(failing, host, other)).toMatchObject(repeated(false))
    expect(host.written).toEqual(['note 1', 'note bad'])
    expect(await run(`${NOTE} // again`, host, other)).toMatchObject({ ok: true })
    expect(await run(NOTE, new Host('b'), other)).toMatchObject({ ok: true })
    expect(host.written).toHaveLength(3)
  })

  it('while it runs gets the same answer', async () => {
    const host = new Host()
    const engine = scripts()
    const [first, second] = await Promise.all([run(NOTE, host, engine), run(NOTE, host, engine)])
    expect([first, second]).toMatchObject([{ ok: true }, repeated(true)])
    expect(host.written).toEqual(['note 1'])
  })

  it('to another process gets no second run, and is told what is unclear if the first one dies', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = memoryStore()
    const host = new Host()
    const call = host.call.bind(host)
    let die = () => {}
    const dying = new Promise<void>((resolve) => (die = resolve))
    let isWriting = false
    host.call = async (...args) => {
      isWriting = true
      await dying
      return call(...args)
    }
    const first = run(NOTE, host, scripts({ store, key: KEY }))
    await vi.waitUntil(() => isWriting)
    const other = scripts({ store, key: KEY })
    const busy = { code: 'script_failed', error: expect.stringContaining('another process') }
    expect(await run(NOTE, new Host(), other)).toMatchObject(busy)
    vi.setSystemTime(Date.now() + 2 * 60_000)
    const unclear = { code: 'unclear', error: expect.stringContaining('check before you repeat') }
    expect(await run(NOTE, new Host(), other)).toMatchObject(unclear)
    expect(await run(NOTE, new Host(), other)).toMatchObject(unclear)
    die()
    await first
    expect(host.written).toEqual(['note 1'])
  })

  it('is started by one of two processes', async () => {
    const store = memoryStore()
    const host = new Host()
    const results = await Promise.all([1, 2].map(() => run(NOTE, host, scripts({ store, key: KEY }))))
    expect(host.written).toEqual(['note 1'])
    expect(results.filter(({ ok }) => ok)).not.toEqual([])
  })

  it('runs again if it only reads, and ten minutes later', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const host = new Host()
    const engine = scripts()
    const reads = 'return await tools.shop.read({ id: "1" })'
    await run(reads, host, engine)
    expect(await run(reads, host, engine)).not.toMatchObject({ value: expect.stringContaining('again') })
    await run(NOTE, host, engine)
    vi.setSystemTime(Date.now() + 11 * 60_000)
    await run(NOTE, host, engine)
    expect(host.written).toEqual(['note 1', 'note 1'])
  })
})

/** A store that fails from a moment on, until it is mended. */
function failingStore() {
  const store = memoryStore()
  const state = { isAway: false, failsAt: Number.POSITIVE_INFINITY, updates: 0 }
  const { update } = store
  store.update = async (...args) => {
    if (++state.updates >= state.failsAt) state.isAway = true
    if (state.isAway) throw new Error('the store is away')
    return update.apply(store, args)
  }
  return { state, store }
}

const GRANTED = Array(9).fill('once')

describe('a store that fails', () => {
  it('before a write lets nothing run, and the script goes on once it is back', async () => {
    const { store, state } = failingStore()
    const engine = scripts({ store, key: KEY, limits: { leaseMs: 50 } })
    const host = new Host()
    await run(CANCELS, host, engine)
    host.answers = GRANTED
    // Decided and claimed; then it is away.
    state.failsAt = state.updates + 3
    expect(await run(CANCELS, host, engine)).toMatchObject({
      code: 'script_failed',
      error: expect.stringContaining('repeats no write'),
    })
    expect(host.written).toEqual([])
    state.failsAt = Number.POSITIVE_INFINITY
    state.isAway = false
    await vi.waitUntil(async () => (await engine.runs.paused(host)).length > 0, {
      timeout: 15_000,
    })
    expect(await run(CANCELS, host, engine)).toMatchObject({ ok: true })
    expect(host.written).toEqual(['cancel 2', 'cancel 3', 'note n'])
  })

  it('after a write gets its result when it is back', async () => {
    const { store, state } = failingStore()
    const engine = scripts({ store, key: KEY })
    const host = new Host()
    host.answers = GRANTED
    host.onWrite = () => {
      host.onWrite = () => {}
      state.isAway = true
      setTimeout(() => (state.isAway = false), 30)
    }
    expect(await run(CANCELS, host, engine)).toMatchObject({ ok: true })
    expect(host.written).toEqual(['cancel 2', 'cancel 3', 'note n'])
  })

  it('and stays away after a write makes it unclear, for others too, and nothing runs twice', async () => {
    const { store, state } = failingStore()
    const engine = scripts({ store, key: KEY, limits: { leaseMs: 100 } })
    const host = new Host()
    host.answers = GRANTED
    host.onWrite = () => {
      state.isAway = true
    }
    const unclear = { code: 'unclear', error: expect.stringContaining('check') }
    expect(await run(CANCELS, host, engine)).toMatchObject(unclear)
    state.isAway = false
    await vi.waitUntil(async () => (await engine.runs.paused(host)).length > 0)
    const said = await run(CANCELS, host, scripts({ store, key: KEY }))
    expect(said).toMatchObject({
      ...unclear,
      error: expect.stringMatching(
        /may not have happened.*cancel \{"id":"2"\}.*Not run: cancel \{"id":"3"\}/,
      ),
    })
    expect(host.written).toEqual(['cancel 2'])
  })
})

describe('the limits of a script that pauses', () => {
  it('count what it did before', async () => {
    const host = new Host()
    host.answers = GRANTED
    const code = `for (let i = 0; i < 9; i++) await tools.shop.cancel({ id: String(i) })`
    expect(await run(code, host, scripts({ limits: { maxCalls: 3 } }))).toMatchObject({
      error: expect.stringContaining('a script may make 3 calls'),
    })
    expect(host.written).toHaveLength(3)
  })

  it('do not keep other scripts waiting while a person is asked', async () => {
    const engine = scripts({ limits: { maxScripts: 1 } })
    const host = new Host()
    let answer: (answers: ['once']) => void = () => {}
    host.ask = () => new Promise((resolve) => (answer = resolve))
    const asking = run('return await tools.shop.cancel({ id: "1" })', host, engine)
    await vi.waitUntil(async () => (await engine.runs.paused(host)).length > 0)
    expect(await run('return 1', new Host('b'), engine)).toMatchObject({ ok: true })
    answer(['once'])
    expect(await asking).toMatchObject({ ok: true })
  })

  it('end its wait, and say what it had done', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const engine = scripts()
    const host = new Host()
    const code = 'await tools.shop.note({ id: "1" }); await tools.shop.cancel({ id: "2" })'
    expect(await run(code, host, engine)).toMatchObject({ code: 'paused' })
    vi.setSystemTime(Date.now() + 25 * 60 * 60_000)
    const expired = {
      code: 'script_failed',
      error: expect.stringMatching(/expired.*cancel.*\[calls: note\]/),
    }
    expect(await run(code, host, engine)).toMatchObject(expired)
    expect(await engine.runs.paused(host)).toEqual([])
    expect(host.written).toEqual(['note 1'])
  })
})

describe('a script that is replayed', () => {
  const stored = () => scripts({ store: memoryStore(), key: KEY })
  const runOf = async (code: string, host: Host, engine: ReturnType<typeof scripts>) => {
    let id = ''
    host.emit = (event) => {
      if (event.type === 'script-started') id = event.run
    }
    await run(code, host, engine)
    return id
  }

  it('does the same without calling anything, over pauses and failures', async () => {
    const host = new Host()
    host.answers = ['once', 'deny']
    const engine = stored()
    const code = `const got = await Promise.allSettled([tools.shop.read({ id: 'x' }), tools.shop.read({ id: 'bad' })])
      const both = await Promise.allSettled(['2', '3'].map((id) => tools.shop.cancel({ id })))
      print(both.map(({ status }) => status).join())
      return [got[1].reason.code, both[1].reason.code]`
    const id = await runOf(code, host, engine)
    expect(host.written).toEqual(['cancel 2'])
    const replayed = await engine.replay(id)
    expect(replayed).toMatchObject({
      divergence: undefined,
      printed: ['fulfilled,rejected'],
      end: { kind: 'returned', text: '["execution_failed","denied"]' },
    })
    expect(replayed?.calls.map(({ path, args }) => `${path} ${args}`).sort()).toEqual([
      'shop.cancel {"id":"2"}',
      'shop.cancel {"id":"3"}',
      'shop.read {"id":"bad"}',
      'shop.read {"id":"x"}',
    ])
    expect(host.written).toEqual(['cancel 2'])
    expect(await engine.sourceOf(id)).toBe(code)
  })

  it('says where other code does something else', async () => {
    const engine = stored()
    const reads = (id: string) => `const { id } = await tools.shop.read({ id: '${id}' }); return id`
    const id = await runOf(reads('1'), new Host(), engine)
    expect(await engine.replay(id, `${reads('1')} + '!'`)).toMatchObject({
      divergence: undefined,
      end: { text: '"1!"' },
    })
    expect(await engine.replay(id, reads('2'))).toMatchObject({
      divergence: 'call 1 is now shop.read {"id":"2"}; recorded is shop.read {"id":"1"}',
    })
    expect(await engine.replay(id, 'return 1')).toMatchObject({
      divergence: 'call 1, shop.read {"id":"1"}, is not made any more',
    })
    expect(await engine.replay(id, `${reads('1')} + (await tools.shop.note({}))`)).toMatchObject({
      divergence: 'call 2, shop.note {}, has no recorded result',
    })
    expect(await engine.replay('unknown')).toBeUndefined()
  })
})

describe('scripts()', () => {
  it('keeps no process alive', async () => {
    const program = `import { scripts } from './packages/scripts/src/index.ts'
      const host = { sessionId: 'a', signal: new AbortController().signal, emit() {} }
      console.log(await scripts().runs.run({ code: 'return 1', toolCallId: '1' }, host))`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', program],
      { timeout: 20_000 },
    )
    expect(stdout).toContain('ok: true')
  })

  it('refuses a store without a key, short keys and unknown limits', () => {
    expect(() => scripts({ store: memoryStore() })).toThrow('needs a key')
    expect(() => scripts({ key: new Uint8Array(3) })).toThrow('32 bytes')
    expect(() => scripts({ limits: { maxCals: 3 } as object })).toThrow('maxCalls')
  })
})
