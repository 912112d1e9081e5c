/**
 * What does a script save, and what does it cost? Tasks of tau2-bench's retail domain (the gold calls, no model) as single
 * calls, as batches and as one script each: equal databases, turns, tokens. Then the machine: start, a call inside, pause and
 * resume, image, memory, and how long the host's event loop is blocked. `npm run bench -- scripts`
 */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { memoryStore, type RegistryOptions, type Session, ToolRegistry } from '../packages/core/src/index.ts'
import { exactTokenCounter } from '../packages/embedder/src/exact-tokens.ts'
import { scripts } from '../packages/scripts/src/index.ts'
import { printTable } from './report.ts'
import { type Call, isRead, registerRetail, retailTasks } from './scripts/retail.ts'

const TASKS = 30

export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const tasks = retailTasks(smoke ? 3 : TASKS)
  if (tasks) await compareTasks(tasks)
  else console.log('scripts: the data of tau2-bench is missing (TAU2_RETAIL), so no tasks are compared')
  await measureMachine(smoke)
}

/** What one way of working costs. */
interface Cost {
  turns: number
  written: number
  answered: number
  /** What the model reads in all turns. */
  read: number
}

async function compareTasks(tasks: readonly (readonly Call[])[]): Promise<void> {
  const count = await exactTokenCounter()
  const rows = []
  const databases: unknown[] = []
  for (const [what, plan] of Object.entries(PLANS)) {
    const registry = new ToolRegistry({ mode: 'full', scripts: scripts(), maxIdenticalCalls: 0 })
    const db = registerRetail(registry)
    const session = await registry.openSession()
    const cost = { turns: 0, written: 0, answered: 0, read: 0 }
    for (const calls of tasks) await work(session, plan(calls), cost, count)
    databases.push(db)
    rows.push({ [`${tasks.length} tasks`]: what, ...cost })
  }
  printTable(rows)
  const isEqual = databases.every((db) => isDeepStrictEqual(db, databases[0]))
  console.log(`  the databases are ${isEqual ? 'equal' : 'DIFFERENT'}`)
}

/** The turns of a task: each has calls that the model writes at once. */
const PLANS: Readonly<Record<string, (calls: readonly Call[]) => readonly (readonly Call[])[]>> = {
  'call by call': (calls) => calls.map((call) => [call]),
  'reads in batches': inBatches,
  'one script': (calls) => [[{ name: 'run_script', arguments: { code: scriptOf(calls) } }]],
}

function inBatches(calls: readonly Call[]): readonly (readonly Call[])[] {
  const turns: Call[][] = []
  for (const call of calls) {
    const last = turns.at(-1)
    if (last && [...last, call].every(({ name }) => isRead(name))) last.push(call)
    else turns.push([call])
  }
  return turns
}

function scriptOf(calls: readonly Call[]): string {
  const lines = inBatches(calls).map((batch) => {
    const made = batch.map(({ name, arguments: args }) => `tools.retail.${name}(${JSON.stringify(args)})`)
    const [only] = made
    const awaited = made.length === 1 ? only : `Promise.allSettled([${made.join(', ')}])`
    const isWrite = batch.some(({ name }) => !isRead(name))
    return isWrite
      ? `did(await ${awaited}.then((order) => order.status, (e) => e.message))`
      : `await ${awaited}.catch(() => {})`
  })
  return `const all = []\nconst did = (status) => all.push(status)\n${lines.join('\n')}\nreturn all`
}

async function work(
  session: Session,
  turns: readonly (readonly Call[])[],
  cost: Cost,
  count: (text: string) => number,
): Promise<void> {
  let context = 0
  for (const calls of turns) {
    const made = calls.map(({ name, arguments: args }, at) => ({
      ...{ toolCallId: String(at), args },
      name: name === 'run_script' ? name : `mcp__retail__${name}`,
    }))
    const results = await session.execute(made)
    const written = sum(made.map((call) => count(JSON.stringify([call.name, call.args]))))
    const answered = sum(results.map(({ result }) => count(result.ok ? result.value : result.error)))
    cost.turns++
    cost.read += context
    cost.written += written
    cost.answered += answered
    context += written + answered
  }
  // The turn that says what was done.
  cost.turns++
  cost.read += context
}

async function measureMachine(smoke: boolean): Promise<void> {
  const rounds = smoke ? 2 : 20
  const images: number[] = []
  const store = memoryStore()
  const { set } = store
  store.set = (key, value, options) => {
    if (value instanceof Uint8Array && key.startsWith('script:')) images.push(value.length)
    return set.call(store, key, value, options)
  }
  const key = new Uint8Array(32)
  const { session, runCode } = await open({ scripts: scripts({ store, key }), onAsk: () => 'once' })
  await runCode('return 1')
  const start = await medianOf(rounds, () => runCode('return 1'))
  const calls = smoke ? 50 : 1_000
  const inside = await medianOf(3, () =>
    runCode(`for (let i = 0; i < ${calls}; i++) await tools.free({ i })`),
  )
  const direct = await medianOf(3, async () => {
    for (let i = 0; i < calls; i++)
      await session.execute([{ toolCallId: String(i), name: 'free', args: { i } }])
  })
  const asked = await medianOf(rounds, () => runCode('return await tools.asked({})'))
  const free = await medianOf(rounds, () => runCode('return await tools.free({})'))
  const memory = await memoryOfScripts(smoke ? 2 : 10)
  printTable([
    row('warm start, run and end', start, 'ms', 5),
    row('a call inside, over a direct one', (inside - start - direct) / calls, 'ms', 0.15),
    row('pause + resume', asked - free, 'ms', 100),
    row('image, sealed', (images.sort((a, b) => a - b)[images.length >> 1] ?? 0) / 1024, 'kB'),
    row('memory of a running script', memory, 'MB', 40),
    row(`${AT_ONCE} scripts at once, all of them`, await timeAtOnce(), 'ms'),
    ...(await blockedRows(runCode)),
  ])
}

const AT_ONCE = 50

async function timeAtOnce(): Promise<number> {
  const { session } = await open({ scripts: scripts() })
  const calls = Array.from({ length: AT_ONCE }, (_, n) => ({
    ...{ toolCallId: String(n), name: 'run_script' },
    args: { code: `return (await tools.free({ n: ${n} })).length` },
  }))
  const startedAt = performance.now()
  await session.execute(calls)
  return performance.now() - startedAt
}

/** The longest time that the event loop of the host was blocked while such a script ran. */
async function blockedRows(runCode: (code: string) => Promise<unknown>) {
  const rows = []
  for (const [what, code] of Object.entries({
    nothing: 'return 1',
    'a loop': 'for (;;);',
    'a memory bomb': 'const a = []; for (;;) a.push(new Array(1e5).fill("x".repeat(1000)))',
    'a flood of calls': 'await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.free({ i })))',
    'a flood of prints': 'for (let i = 0; i < 1e5; i++) print("x".repeat(100))',
    'a result of 4 MB': 'return (await tools.large({})).length',
    'a returned 1 MB': 'return "x".repeat(1e6)',
  })) {
    await setTimeout(300)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    await runCode(code)
    delay.disable()
    rows.push(row(`blocked by ${what}`, delay.max / 1e6, 'ms', 20))
  }
  return rows
}

/** Scripts that run at once, each of which waits for a call. */
async function memoryOfScripts(count: number): Promise<number> {
  const { runCode, release } = await open({ scripts: scripts({ limits: { maxScripts: count } }) })
  await runCode('return 1')
  await setTimeout(500)
  const before = process.memoryUsage().rss
  const running = Array.from({ length: count }, () => runCode('return await tools.slow({})'))
  await setTimeout(2_000)
  const after = process.memoryUsage().rss
  release()
  await Promise.all(running)
  return (after - before) / count / 1024 / 1024
}

async function open(options: RegistryOptions) {
  const registry = new ToolRegistry({
    mode: 'full',
    policy: { ask: ['asked'] },
    maxIdenticalCalls: 0,
    ...options,
  })
  const inputSchema = { type: 'object' }
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const large = JSON.stringify(Array.from({ length: 40_000 }, (_, id) => ({ id, text: 'x'.repeat(80) })))
  const tools = {
    free: () => 'done',
    asked: () => 'done',
    slow: () => released.then(() => 'done'),
    large: () => large,
  }
  for (const [name, execute] of Object.entries(tools))
    registry.register({ name, description: name, inputSchema, execute })
  const session = await registry.openSession()
  let scripted = 0
  const runCode = async (code: string) => {
    // The next spare worker is ready by then.
    await setTimeout(150)
    // The same code again would get the answer of its first run.
    const args = { code: `${code}\n// ${++scripted}` }
    const startedAt = performance.now()
    await session.execute([{ toolCallId: 's', name: 'run_script', args }])
    return performance.now() - startedAt
  }
  return { session, runCode, release }
}

async function medianOf(rounds: number, measure: () => Promise<number | undefined>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    const own = await measure()
    times.push(own ?? performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN
}

function row(what: string, value: number, unit: string, goal?: number) {
  return { what, value: value.toFixed(2), unit, goal: goal === undefined ? '' : `≤ ${goal}` }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
