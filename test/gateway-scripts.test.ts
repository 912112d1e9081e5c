import type { Client } from '@modelcontextprotocol/client'
import { memoryStore, type SavedScript, type Tool, ToolRegistry } from 'toolcrib'
import { createGateway, type Gateway, type GatewayOptions } from 'toolcrib/gateway'
import { scripts } from 'toolcrib/scripts'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const CAN_BE_ASKED = { elicitation: { form: {} } }

let cancelled: string[] = []
beforeEach(() => {
  cancelled = []
})

const CANCEL = `const one = await tools.cancel({ id: '1' })
const more = await Promise.all(['2', '3'].map((id) => tools.cancel({ id })))
return [one, ...more].length`

/** A gateway whose tool `cancel` writes down that it ran, and asks before. */
function shop(
  options: Partial<GatewayOptions> = {},
  engine = scripts(),
  saved: readonly SavedScript[] = [],
): Gateway {
  const registry = new ToolRegistry({ policy: { ask: ['cancel'] }, scripts: engine })
  const inputSchema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const tool = (name: string, execute: Tool<{ readonly id: string }>['execute']) =>
    registry.register({
      name,
      description: `Does ${name}.`,
      inputSchema,
      execute: execute as Tool['execute'],
    })
  tool('cancel', ({ id }) => {
    cancelled.push(id)
    return { ok: true, value: `{"id":"${id}"}` }
  })
  tool('look', ({ id }) => ({ ok: true, value: `{"id":"${id}"}` }))
  for (const script of saved) registry.registerScript(script)
  const gateway = createGateway({ registry, limits: { askWaitMs: 50 }, ...options })
  onTestFinished(() => gateway.close())
  return gateway
}

const runScript = (code: string) => ({ name: 'run_script', arguments: { code } })
const textOf = ({ content }: Awaited<ReturnType<Client['callTool']>>) =>
  (content as { text: string }[]).map(({ text }) => text).join('\n')

/** Answers each question with the next of these decisions, and keeps the questions. */
function answering(client: Client, ...decisions: (string | undefined)[]): string[] {
  const questions: string[] = []
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    questions.push(params.message)
    const decision = decisions.shift()
    return decision === undefined ? { action: 'decline' } : { action: 'accept', content: { decision } }
  })
  return questions
}

describe.each(['modern', 'legacy'] as const)('a %s client', (era) => {
  it.each(['full', 'lazy'] as const)('lists run_script in %s mode, and runs scripts', async (mode) => {
    const client = await connectClient(shop({ mode }), { era })
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'run_script')).toMatchObject({
      description: expect.stringContaining('Runs a JavaScript or TypeScript program'),
      annotations: { readOnlyHint: false },
    })
    const result = await client.callTool(runScript('return (await tools.look({ id: "1" })).id'))
    expect(textOf(result)).toBe('"1"\n[calls: look]')
  })

  it('is asked once for all calls that wait, and the script goes on', async () => {
    const client = await connectClient(shop(), { era, capabilities: CAN_BE_ASKED })
    const questions = answering(client, 'once', 'once')
    const result = await client.callTool(runScript(CANCEL))
    expect(textOf(result)).toBe('3\n[calls: cancel ×3]')
    expect(questions).toEqual([
      'Toolcrib: run cancel {"id":"1"}?',
      'Toolcrib: run these 2 calls of a script?\ncancel {"id":"2"}\ncancel {"id":"3"}',
    ])
    expect(cancelled).toEqual(['1', '2', '3'])
  })

  it('is asked about a saved script as one call', async () => {
    const gateway = shop({}, scripts(), [{ name: 'cancel_all', description: 'Cancels three.', code: CANCEL }])
    const client = await connectClient(gateway, { era, capabilities: CAN_BE_ASKED })
    const questions = answering(client, 'once')
    const result = await client.callTool({ name: 'cancel_all', arguments: {} })
    expect(textOf(result)).toContain('3\n[calls: cancel ×3]')
    expect(questions).toEqual(['Toolcrib: run cancel_all (a script that calls cancel) {}?'])
    expect([...cancelled].sort()).toEqual(['1', '2', '3'])
  })

  it('is asked again about a call that the script repeats', async () => {
    const client = await connectClient(shop(), { era, capabilities: CAN_BE_ASKED })
    const questions = answering(client, 'once', undefined)
    const result = await client.callTool(
      runScript(`await tools.cancel({ id: '1' })
        try { await tools.cancel({ id: '1' }) } catch (e) { return e.code }`),
    )
    expect(textOf(result)).toContain('"denied"')
    expect(questions).toHaveLength(2)
    expect(cancelled).toEqual(['1'])
  })

  it('whose user cannot be asked is told who can, and continues with the same code', async () => {
    const gateway = shop()
    const client = await connectClient(gateway, { era })
    const waiting = await client.callTool(runScript(CANCEL))
    const pending = async () => (await gateway.approvals.list()).pending.map(({ id }) => id)
    const [id = ''] = await pending()
    expect(textOf(waiting)).toContain(`toolcrib approve-call ${id}`)
    await gateway.approvals.decide(id, 'once')
    expect(textOf(await client.callTool(runScript(CANCEL)))).toContain('cancel, cancel wait for')
    expect(cancelled).toEqual(['1'])
    for (const next of await pending()) await gateway.approvals.decide(next, 'once')
    expect(textOf(await client.callTool(runScript(CANCEL)))).toBe('3\n[calls: cancel ×3]')
    expect(cancelled).toEqual(['1', '2', '3'])
  })

  it('waits in the same call while somebody else decides', async () => {
    const gateway = shop({ limits: { askWaitMs: 20_000 } })
    const client = await connectClient(gateway, { era })
    const decideAll = async () => {
      for (let decided = 0; decided < 3; ) {
        const { pending } = await gateway.approvals.list()
        for (const { id } of pending) if (await gateway.approvals.decide(id, 'once')) decided++
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    const [result] = await Promise.all([client.callTool(runScript(CANCEL)), decideAll()])
    expect(textOf(result)).toBe('3\n[calls: cancel ×3]')
  })

  it.each([
    ['a modern server', { modern: script(MODERN_SERVER) }, 'modern.ask'],
    [
      'an older server',
      { everything: script(referenceServer('everything')) },
      'everything["trigger-elicitation-request"]',
    ],
  ])('answers the question of %s inside a script', async (_what, server, path) => {
    const registry = new ToolRegistry({ scripts: scripts() })
    const { gateway } = await openGateway(server, { registry })
    const client = await connectClient(gateway, { era, capabilities: CAN_BE_ASKED })
    let asked = 0
    client.setRequestHandler('elicitation/create', async () => {
      asked++
      return { action: 'accept', content: { name: 'ada' } }
    })
    const result = await client.callTool(runScript(`return await tools.${path}({})`))
    expect(asked).toBeGreaterThan(0)
    expect(textOf(result)).toContain('ada')
  })
})

it('a script that waits goes on at another replica, and after a restart', async () => {
  const store = memoryStore()
  const gateway = () => shop({ store }, scripts({ store, key: new Uint8Array(32).fill(3) }))
  const [first, second] = [gateway(), gateway()]
  const ada = await connectClient(first)
  expect(textOf(await ada.callTool(runScript(CANCEL)))).toContain('paused')
  const [{ id } = { id: '' }] = (await first.approvals.list()).pending
  await second.approvals.decide(id, 'session')
  const again = await connectClient(second)
  expect(textOf(await again.callTool(runScript(CANCEL)))).toBe('3\n[calls: cancel ×3]')
  expect(cancelled).toEqual(['1', '2', '3'])
})

it('a script of one client is not continued by another', async () => {
  const tokens = ['ada', 'bob'].map((name) => ({ name, token: `a-token-of-${name}-123` }))
  const gateway = shop({ tokens })
  const [ada, bob] = await Promise.all(tokens.map(({ token }) => connectClient(gateway, { token })))
  await ada?.callTool(runScript(CANCEL))
  const [{ id } = { id: '' }] = (await gateway.approvals.list()).pending
  await gateway.approvals.decide(id, 'once')
  await bob?.callTool(runScript(CANCEL))
  expect(cancelled).toEqual([])
})

it('every call of a script is recorded', async () => {
  const { mkdtemp } = await import('node:fs/promises')
  const directory = await mkdtemp('/tmp/toolcrib-audit-')
  const registry = new ToolRegistry({ scripts: scripts() })
  const { gateway } = await openGateway(
    { everything: script(referenceServer('everything')) },
    { registry, audit: { directory } },
  )
  const client = await connectClient(gateway)
  await client.callTool(
    runScript('await Promise.all([1, 2].map((n) => tools.everything.echo({ message: "m" + n })))'),
  )
  const { readAudit } = await import('../packages/gateway/src/audit/read-audit.ts')
  const lines = await vi.waitUntil(async () => {
    const read = await readAudit(directory, { limit: 10 })
    return read.length >= 3 ? read : undefined
  })
  expect(lines.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
    'mcp__everything__echo ok',
    'mcp__everything__echo ok',
    'run_script ok',
  ])
})
