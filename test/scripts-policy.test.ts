import fc from 'fast-check'
import { type RegistryOptions, type Tool, ToolRegistry } from 'toolcrib'
import { scripts } from 'toolcrib/scripts'
import { expect, it } from 'vitest'

const NAMES = ['read', 'write', 'wipe', 'mcp__shop__read', 'mcp__shop__write']
const GLOBS = [...NAMES, 'mcp__shop__*', '*write', 'mcp__*', '*']
const engine = scripts()

interface World {
  readonly policy: NonNullable<RegistryOptions['policy']>
  readonly answers: Readonly<Record<string, 'once' | 'deny' | 'session' | undefined>>
  readonly canAsk: boolean
  /** Refused by a hook. */
  readonly hooked: readonly string[]
}

interface Call {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

const globs = fc.subarray(GLOBS, { maxLength: 3 })
const worlds: fc.Arbitrary<World> = fc.record({
  policy: fc.record({ deny: globs, ask: globs, allow: globs }, { requiredKeys: ['deny', 'ask'] }),
  answers: fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom('once', 'deny', 'session')),
  canAsk: fc.boolean(),
  hooked: fc.subarray(NAMES, { maxLength: 1 }),
})
const calls: fc.Arbitrary<readonly Call[]> = fc.array(
  fc.record({
    name: fc.constantFrom(...NAMES, 'unknown', 'run_script', 'call_tool'),
    args: fc.constantFrom({ id: 'a' }, { id: 'b' }, { id: 1 }, {}, { id: 'a', other: true }),
  }),
  { minLength: 1, maxLength: 5 },
)

/** A session under these rules, whose tools write down what they did. */
async function open({ policy, answers, canAsk, hooked }: World) {
  const ran: string[] = []
  const registry = new ToolRegistry({
    ...{ policy, scripts: engine, mode: 'full', maxIdenticalCalls: 2 },
    ...(canAsk ? { onAsk: ({ calls: asked }) => asked.map(({ tool }) => answers[tool] ?? 'deny') } : {}),
    hooks: {
      before_tool_call: ({ name }) => (hooked.includes(name) ? { deny: 'the hook says no' } : undefined),
    },
  })
  const inputSchema = {
    ...{ type: 'object', properties: { id: { type: 'string' } } },
    ...{ required: ['id'], additionalProperties: false },
  }
  const tool = (name: string, registered = name): Tool => ({
    ...{ name, description: name, inputSchema, annotations: { readOnlyHint: name === 'read' } },
    execute: (args) => {
      ran.push(`${registered} ${JSON.stringify(args)}`)
      return 'done'
    },
  })
  for (const name of ['read', 'write', 'wipe']) registry.register(tool(name))
  registry.syncMcp('shop', [tool('read', 'mcp__shop__read'), tool('write', 'mcp__shop__write')])
  return { ran, session: await registry.openSession() }
}

const codeOf = (wanted: readonly Call[], isAtOnce: boolean) =>
  isAtOnce
    ? `await Promise.allSettled(${JSON.stringify(wanted)}.map(({ name, args }) => tools[name](args)))`
    : `for (const { name, args } of ${JSON.stringify(wanted)}) try { await tools[name](args) } catch {}`

/** What the session does call by call, or with all calls in one turn. */
async function direct(world: World, wanted: readonly Call[], isAtOnce: boolean): Promise<readonly string[]> {
  const { session, ran } = await open(world)
  const made = wanted
    .filter(({ name }) => name !== 'run_script')
    .map((call, at) => ({ ...call, toolCallId: String(at) }))
  for (const turn of isAtOnce ? [made] : made.map((call) => [call])) await session.execute(turn)
  return ran
}

async function runScript(world: World, wanted: readonly Call[], isAtOnce: boolean) {
  const opened = await open(world)
  const args = { code: codeOf(wanted, isAtOnce) }
  await opened.session.execute([{ toolCallId: 's', name: 'run_script', args }])
  return opened
}

it('a script does what the session would do call by call, and nothing else', async () => {
  const runs = fc.asyncProperty(worlds, calls, fc.boolean(), async (world, wanted, isAtOnce) => {
    const ran = await direct(world, wanted, isAtOnce)
    const scripted = await runScript(world, wanted, isAtOnce)
    const isWaiting = (await scripted.session.scripts.paused()).length > 0
    if (isAtOnce) expectWithin(scripted.ran, ran)
    // A script that waits has done less, never more.
    else if (isWaiting) expect(ran.slice(0, scripted.ran.length)).toEqual(scripted.ran)
    else expect(scripted.ran).toEqual(ran)
  })
  await fc.assert(runs, { numRuns: 80 })
})

it('nor when a person decides later', async () => {
  const runs = fc.asyncProperty(worlds, calls, fc.boolean(), async (world, wanted, isAtOnce) => {
    const ran = await direct({ ...world, canAsk: true }, wanted, isAtOnce)
    const { session, ran: scripted } = await runScript({ ...world, canAsk: false }, wanted, isAtOnce)
    for (let round = 0; round < 9; round++) {
      const [paused] = await session.scripts.paused()
      if (!paused) break
      const decisions = paused.calls.map(({ n, name }) => [n, (world.answers[name] ?? 'deny') !== 'deny'])
      await session.scripts.decide(paused.run, Object.fromEntries(decisions))
      await session.scripts.resume(paused.run)
    }
    expect(await session.scripts.paused()).toEqual([])
    expectWithin(scripted, ran)
  })
  await fc.assert(runs, { numRuns: 40 })
})

function expectWithin(some: readonly string[], all: readonly string[]): void {
  const left = [...all]
  for (const one of some) {
    expect(left).toContain(one)
    left.splice(left.indexOf(one), 1)
  }
}
