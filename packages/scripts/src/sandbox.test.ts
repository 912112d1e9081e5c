import { afterAll, describe, expect, it } from 'vitest'
import { limitsOf } from './limits.ts'
import { NOTHING_USED, Sandboxes, type Step } from './sandbox.ts'

const sandboxes = new Sandboxes(64)
afterAll(() => sandboxes.close())

const NOW = Date.UTC(2026, 0, 2)

async function start(code: string, limits = {}) {
  const sandbox = await sandboxes.take()
  const step = await sandbox.start(code, limitsOf(limits), NOW)
  return { sandbox, step }
}

async function run(code: string, limits = {}): Promise<Step> {
  const { sandbox, step } = await start(code, limits)
  await sandbox.end()
  return step
}

const returned = async (code: string) => (await run(code)).said.at(-1)

describe('a script', () => {
  it('returns a value as JSON', async () => {
    expect(await returned('return { a: [1, new Map([["b", 2n]])] }')).toEqual([
      0,
      'return',
      '{"a":[1,{"b":"2"}]}',
    ])
  })

  it('calls tools by path, and goes on with their results', async () => {
    const { sandbox, step } = await start(
      'const [a, b] = await Promise.all([tools.shop.get({ id: 1 }), tools.shop.get({ id: 2 })])\nreturn a.x + b.x',
    )
    expect(step.said).toEqual([
      [1, 'shop.get', '{"id":1}'],
      [2, 'shop.get', '{"id":2}'],
    ])
    expect((await sandbox.settle([[2, 'json', '{"x":2}']])).said).toEqual([])
    expect((await sandbox.settle([[1, 'json', '{"x":1}']])).said).toEqual([[0, 'return', '3']])
    await sandbox.end()
  })

  it('catches the failure of a call', async () => {
    const { sandbox } = await start(
      'try { await tools.a.b() } catch (e) { return [e instanceof ToolError, e.name, e.code, e.message, e.tool] }',
    )
    const failure = JSON.stringify({ code: 'denied', message: 'no', tool: 'mcp__a__b' })
    expect((await sandbox.settle([[1, 'failure', failure]])).said).toEqual([
      [0, 'return', '[true,"ToolError","denied","no","mcp__a__b"]'],
    ])
    await sandbox.end()
  })

  it('says where it failed', async () => {
    const [, , text] = (await returned('const a = 1\nnull.x')) ?? []
    expect(JSON.parse(text ?? '')).toMatchObject({ name: 'TypeError', line: '2' })
    expect((await run('let a = ;')).over).toMatchObject({ name: 'SyntaxError', line: '1' })
  })

  it('goes on from an image, in another machine, at the same time of day', async () => {
    const { sandbox } = await start(
      'const at = Date.now()\nconst r = await tools.a.b()\nreturn [r, Date.now() === at, at]',
    )
    const image = await sandbox.image()
    await sandbox.end()
    const other = await sandboxes.take()
    expect((await other.restore(image, limitsOf(), NOW, NOTHING_USED)).said).toEqual([])
    expect((await other.settle([[1, 'json', '"ok"']])).said).toEqual([[0, 'return', `["ok",true,${NOW}]`]])
    expect((await other.settle([[1, 'json', '"again"']])).said).toEqual([])
    await other.end()
  })
})

describe('the limits of a script', () => {
  it.each([
    ['a loop', 'while (true);'],
    ['microtasks without end', 'for (;;) await null'],
    ['a loop inside a native function', 'const a = []; a.length = 2 ** 32 - 1; a.join()'],
    ['a sort without end', 'const a = []; a.length = 2 ** 31; a.sort()'],
    ['an expensive pattern', '/^(a+)+$/.test("a".repeat(50) + "b")'],
    ['a loop in a getter', 'return { get a() { for (;;); } }'],
    ['a loop in a proxy', 'return await tools.a.b(new Proxy({}, { get() { for (;;); } }))'],
    ['a loop after its result', 'Promise.resolve().then(() => { for (;;); }); return 1'],
  ])('end %s', async (_what, code) => {
    expect((await run(code, { cpuMs: 200 })).over).toEqual({ limit: 'cpu' })
  })

  it('let it catch deep recursion, deep JSON and a lack of memory', async () => {
    const caught = (body: string) => returned(`try { ${body} } catch (e) { return e.name ?? String(e) }`)
    expect((await caught('const f = () => f() + 1; f()'))?.[2]).toMatch(/Error/)
    expect((await caught('JSON.parse("[".repeat(1e5) + "]".repeat(1e5)); throw "parsed"'))?.[2]).toMatch(
      /Error|parsed/,
    )
    expect(
      (
        await caught('let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return JSON.stringify(a).length')
      )?.[2],
    ).toBe('20002')
    const bomb = await run('const a = []; for (;;) a.push(new Array(1e5).fill("x".repeat(1000)))')
    expect(bomb.said.length === 1 || bomb.over !== undefined).toBe(true)
  })

  it('hold for calls, arguments, prints and results', async () => {
    const calls = await run('for (let i = 0; i < 9; i++) tools.a.b({ i })', { maxCalls: 3 })
    expect(calls.said.filter(([number]) => number > 0)).toHaveLength(3)
    const [, what, text] =
      (await run('await tools.a.b("x".repeat(100))', { argumentChars: 10 })).said.at(-1) ?? []
    expect([what, text]).toEqual(['throw', expect.stringContaining('arguments may have 10 characters')])
    const printed = await run('for (let i = 0; i < 1000; i++) print("x".repeat(100))', { printChars: 250 })
    expect(printed.said.filter(([, said]) => said === 'print').map(([, , said]) => said.length)).toEqual([
      100, 100, 50,
    ])
    expect(printed.used.printedChars).toBe(100_000)
    const long = (await run('return "x".repeat(100)', { resultChars: 10 })).said.at(-1)
    expect(long).toEqual([0, 'throw', expect.stringContaining('a result may have 10 characters')])
  })
})

describe('the sandbox', () => {
  it.each([
    'process',
    'require',
    'module',
    'fetch',
    'setTimeout',
    'WebAssembly',
    'Intl',
    'post',
    'workerData',
    'parentPort',
    'Buffer',
  ])('has no %s', async (name) => {
    expect(await returned(`return typeof ${name}`)).toEqual([0, 'return', '"undefined"'])
  })

  it.each([
    ['the constructor of a function', 'return tools.constructor.constructor("return typeof process")()'],
    ['call sites', 'Error.prepareStackTrace = (_, sites) => sites; return [typeof new Error().stack]'],
    [
      'the stack',
      'try { await tools.a.b(1n ** 2n, { toJSON() { throw new Error("x") } }) } catch (e) { return e.stack }',
    ],
    ['the text of functions', 'return [String(print), String(tools), String(tools.a.b)]'],
    ['a global that it replaced', 'JSON.stringify = () => "{}"; Promise.prototype.then = null; return 1'],
  ])('shows nothing of the host by %s', async (_what, code) => {
    const step = await run(code)
    expect(JSON.stringify(step)).not.toMatch(/node:|file:|\/work|sandbox\.js|worker_threads|"object"/)
  })

  it.each([
    [
      'prototypes',
      'return Object.getPrototypeOf(tools).constructor("return typeof process + typeof require")()',
    ],
    [
      'the constructor of an async function',
      'return (async () => {}).constructor("return typeof process")()',
    ],
    ['generators', 'return (function*(){}).constructor("yield typeof process")().next()'],
    ['eval', 'return [eval("typeof process"), (0, eval)("typeof require")]'],
    ['a module', 'return await import("fs").then(() => "loaded", (e) => String(e))'],
    [
      'the failure of a call',
      'try { tools.x(Symbol()) ; await tools.a.b("x".repeat(2e6)) } catch (e) { return [e.stack, e.constructor.constructor("return typeof process")()] }',
    ],
    [
      'a throwing getter',
      'return { get a() { throw Object.assign(new Error("own"), { code: { toString() { return "c" } } }) } }',
    ],
    ['a proxy as a result', 'return new Proxy({}, { ownKeys() { throw new Error("own") } })'],
    ['a proxy as arguments', 'return await tools.a.b(new Proxy({}, { get() { throw new Error("own") } }))'],
    ['toJSON', 'return { toJSON() { return typeof process } }'],
    [
      'a prepared stack of a call',
      'Object.defineProperty(Error, "prepareStackTrace", { value: (_, s) => s }); return 1',
    ],
    [
      'a recursion inside a call',
      'const f = () => { try { return f() } catch (e) { return tools.a.b.constructor("return typeof process")() } }; return f()',
    ],
    [
      'symbols',
      'return [tools[Symbol.toPrimitive], tools[Symbol.iterator], typeof tools.a[Symbol.toStringTag]]',
    ],
    [
      'shared memory',
      'return [typeof SharedArrayBuffer === "undefined" || new SharedArrayBuffer(8).byteLength, typeof Atomics]',
    ],
    [
      'captured stacks',
      'const o = {}; Error.captureStackTrace?.(o); return [o.stack ?? "", typeof o.stack?.[0]]',
    ],
    ['its caller', 'return [typeof (function () { return arguments.callee.caller }).call(null)]'],
    [
      'its globals',
      'return Object.getOwnPropertyNames(globalThis).filter((name) => /host|node|worker|vm/i.test(name))',
    ],
    [
      'finalizers',
      'return [typeof WeakRef === "undefined" || new WeakRef({}).deref()?.process, typeof process]',
    ],
    ['an error with a cause', 'throw new Error("a", { cause: { get stack() { return typeof process } } })'],
    [
      'the species of a promise',
      'class P extends Promise { static get [Symbol.species]() { return class { constructor(f) { f((v) => v, tools) } } } }; return await P.resolve(1).then(String)',
    ],
    [
      'a revived prototype',
      'return JSON.parse(\'{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}}}\')',
    ],
  ])('gives away nothing by %s', async (_what, code) => {
    const step = await run(code, { cpuMs: 500 })
    expect(JSON.stringify(step)).not.toMatch(
      /node:|file:|\/tmp|\/work|sandbox\.js|worker_threads|"object"|"function"/,
    )
  })

  it('cannot be robbed of its way out by replaced globals', async () => {
    const replaced = `for (const name of ['stringify', 'parse']) JSON[name] = () => { throw 1 }
      Object.assign = Object.fromEntries = () => { throw 1 }
      globalThis.Promise = globalThis.Map = undefined
      Array.prototype.map = Array.prototype.join = () => 'forged'
      const got = await tools.a.b({ id: 1 })
      return got.ok`
    const { sandbox, step } = await start(replaced)
    expect(step.said).toEqual([[1, 'a.b', '{"id":1}']])
    expect((await sandbox.settle([[1, 'json', '{"ok":true}']])).said).toEqual([[0, 'return', 'true']])
    await sandbox.end()
  })

  it('has a clock that stands still, so that nothing can be timed', async () => {
    const code =
      'const a = Date.now(); for (let i = 0; i < 1e5; i++); return [Date.now() - a, typeof performance]'
    expect((await returned(code))?.[2]).toMatch(/^\[0,/)
  })

  it('settles a call with what the host says, even if it names a prototype', async () => {
    const { sandbox } = await start('const r = await tools.a.b(); return [Object.keys(r), {}.polluted]')
    const said = (await sandbox.settle([[1, 'text', ' {"__proto__":{"polluted":1},"a":1}']])).said
    expect(said).toEqual([[0, 'return', '[["__proto__","a"],null]']])
    await sandbox.end()
  })

  it('holds no more arguments at once than a result may have', async () => {
    const code = 'for (let i = 0; i < 100; i++) tools.a.b("x".repeat(1e5))'
    const step = await run(code, { resultChars: 1_000_000 })
    const calls = step.said.filter(([number]) => number > 0)
    expect(calls.length).toBeLessThan(11)
  })

  it('ends alone: other scripts go on beside one that breaks its machine', async () => {
    const bomb = run('const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))', { cpuMs: 1_000 })
    const others = Array.from({ length: 3 }, (_, n) => returned(`return ${n}`))
    expect(await Promise.all(others)).toEqual([0, 1, 2].map((n) => [0, 'return', String(n)]))
    await bomb
  })

  it('takes no number of a call from the script', async () => {
    const step = await run('const p = tools.a.b(); tools.a.b(); return 1')
    expect(step.said.map(([number]) => number)).toEqual([1, 2, 0])
  })

  it('refuses what would silently ignore a locale', async () => {
    expect((await returned('return [1].toLocaleString("de")'))?.[1]).toBe('throw')
    expect((await returned('return "a".localeCompare("b")'))?.[1]).toBe('throw')
    expect(await returned('return (1.5).toLocaleString()')).toEqual([0, 'return', '"1.5"'])
  })

  it('keeps scripts apart', async () => {
    await run('globalThis.secret = 1; Object.prototype.secret = 1')
    expect(await returned('return typeof secret')).toEqual([0, 'return', '"undefined"'])
  })
})
