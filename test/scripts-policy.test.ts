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

it('a script does what the session would do call by call, and nothing else', async () => {
  const runs = fc.asyncProperty(worlds, calls, async (world, wanted) => {
    const direct = await open(world)
    for (const [at, { name, args }] of wanted.entries())
      if (name !== 'run_script') await direct.session.execute([{ toolCallId: String(at), name, args }])
    const scripted = await open(world)
    const code = `for (const { name, args } of ${JSON.stringify(wanted)})
      try { await tools[name](args) } catch {}`
    await scripted.session.execute([{ toolCallId: 's', name: 'run_script', args: { code } }])
    // A script that waits has done less, never more.
    if ((await scripted.session.scripts.paused()).length === 0) expect(scripted.ran).toEqual(direct.ran)
    else expect(direct.ran.slice(0, scripted.ran.length)).toEqual(scripted.ran)
  })
  await fc.assert(runs, { numRuns: 60 })
})
