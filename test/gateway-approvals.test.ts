import type { Client } from '@modelcontextprotocol/client'
import { memoryStore, ToolRegistry } from 'toolcrib'
import { createGateway, type Gateway, type GatewayOptions } from 'toolcrib/gateway'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { connectClient, openGateway, rawRequest } from './gateway.fixture.ts'
import { MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))
const CAN_BE_ASKED = { elicitation: { form: {} } }

let ran: string[] = []
beforeEach(() => {
  ran = []
})

/** A gateway whose tool `wipe` writes down that it ran, and asks before. */
function workshop(options: Partial<GatewayOptions> = {}, description = 'Wipes a disk.'): Gateway {
  const registry = new ToolRegistry({ policy: { ask: ['wipe'] } })
  const inputSchema = { type: 'object', properties: { disk: { type: 'string' } }, required: ['disk'] }
  registry.registerFunction(({ disk }: { disk: string }) => void ran.push(disk), {
    ...{ name: 'wipe', description, inputSchema, preload: true },
  })
  const gateway = createGateway({ registry, limits: { askWaitMs: 50 }, ...options })
  onTestFinished(() => gateway.close())
  return gateway
}

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

const wipe = (disk: string) => ({ name: 'wipe', arguments: { disk } })
const throughDispatch = (disk: string) => ({ name: 'call_tool', arguments: wipe(disk) })

describe.each(['modern', 'legacy'] as const)('a %s client that calls a tool that asks', (era) => {
  it.each([
    ['directly', wipe],
    ['through call_tool', throughDispatch],
  ] as const)('%s: its user is asked, and decides', async (_how, call) => {
    const gateway = workshop({ mode: 'lazy' })
    const client = await connectClient(gateway, { era, capabilities: CAN_BE_ASKED })
    const questions = answering(client, 'once', undefined, 'session')
    await client.callTool(call('a'))
    expect(ran).toEqual(['a'])
    expect(questions).toEqual(['Toolcrib: run wipe {"disk":"a"}?'])
    const refused = await client.callTool(call('b'))
    expect(refused).toMatchObject({ isError: true })
    expect(JSON.stringify(refused.content)).toContain('do not try another way')
    await client.callTool(call('c'))
    await client.callTool(call('d'))
    expect(ran).toEqual(['a', 'c', 'd'])
    expect(questions).toHaveLength(3)
  })

  it('is answered with what to do when its user cannot be asked, and runs once it is approved', async () => {
    const pending = vi.fn()
    const gateway = workshop({ onPending: pending })
    const client = await connectClient(gateway, { era })
    const waiting = await client.callTool(wipe('a'))
    const [{ id, ...first } = { id: '' }] = (await gateway.approvals.list()).pending
    expect(first).toMatchObject({ tool: 'wipe', args: { disk: 'a' } })
    expect(pending).toHaveBeenCalledTimes(1)
    expect(waiting).toMatchObject({ isError: true })
    expect(JSON.stringify(waiting.content)).toContain(`toolcrib approve-call ${id}`)
    expect(JSON.stringify(waiting.content)).toContain('Nothing was run')
    expect(await gateway.approvals.decide('ZZZZ', 'once')).toBeUndefined()
    await gateway.approvals.decide(id.toLowerCase(), 'once')
    await client.callTool(wipe('b'))
    expect(ran).toEqual([])
    await client.callTool(wipe('a'))
    expect(ran).toEqual(['a'])
    await client.callTool(wipe('a'))
    expect(ran).toEqual(['a'])
  })

  it('goes on as soon as somebody approves it elsewhere, or refuses it', async () => {
    const gateway = workshop({ limits: { askWaitMs: 20_000 } })
    const client = await connectClient(gateway, { era })
    const decideNext = async (answer: 'always' | 'deny') => {
      const pending = () => gateway.approvals.list().then((book) => book.pending[0]?.id)
      await vi.waitUntil(pending, { timeout: 10_000 })
      await gateway.approvals.decide((await pending()) ?? '', answer)
    }
    const [denied] = await Promise.all([client.callTool(wipe('a')), decideNext('deny')])
    expect(JSON.stringify(denied.content)).toContain('The user refused')
    await Promise.all([client.callTool(wipe('b')), decideNext('always')])
    await client.callTool(wipe('c'))
    expect(ran).toEqual(['b', 'c'])
    const { grants } = await gateway.approvals.list()
    expect(grants).toMatchObject([{ kind: 'always', tool: 'wipe' }])
    expect(await gateway.approvals.revoke(grants[0]?.id)).toBe(1)
    expect((await gateway.approvals.list()).grants).toEqual([])
  })

  it('is asked once where the server asks a question of its own', async () => {
    for (const [server, tool, args] of [
      [{ modern: MODERN }, 'modern__ask', {}],
      [{ everything: EVERYTHING }, 'everything__trigger-elicitation-request', {}],
    ] as const) {
      const registry = new ToolRegistry({ policy: { ask: ['*'] } })
      const { gateway } = await openGateway(server, { registry })
      const client = await connectClient(gateway, { era, capabilities: CAN_BE_ASKED })
      const questions: string[] = []
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        questions.push(params.message)
        const content = params.message.startsWith('Toolcrib: run') ? { decision: 'once' } : { name: 'ada' }
        return { action: 'accept', content }
      })
      const result = await client.callTool({ name: tool, arguments: args })
      expect(result.isError ?? false).toBe(false)
      expect(questions.filter((question) => question.startsWith('Toolcrib: run'))).toHaveLength(1)
      expect(questions.length).toBeGreaterThan(1)
    }
  })

  it('never uses what another client was granted', async () => {
    const tokens = ['ada', 'bob'].map((name) => ({ name, token: `a-token-of-${name}-123` }))
    const gateway = workshop({ tokens })
    const [ada, bob] = await Promise.all(
      tokens.map(({ token }) => connectClient(gateway, { era, token, capabilities: CAN_BE_ASKED })),
    )
    if (!ada || !bob) throw new Error('two clients')
    answering(ada, 'always')
    const questions = answering(bob)
    await ada.callTool(wipe('a'))
    await bob.callTool(wipe('a'))
    expect(questions).toHaveLength(1)
    expect(ran).toEqual(['a'])
  })
})

describe('the sealed state of a question to a modern client', () => {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': CAN_BE_ASKED }
  const yes = { 'toolcrib.ask': { action: 'accept', content: { decision: 'once' } } }
  const ask = async (gateway: Gateway) => {
    const { answer } = await rawRequest(gateway, 'tools/call', { ...wipe('a'), _meta })
    const { requestState, inputRequests } = answer.result as Record<string, unknown>
    expect(Object.keys(inputRequests as object)).toEqual(['toolcrib.ask'])
    return requestState
  }
  const retry = (gateway: Gateway, requestState: unknown, disk = 'a') =>
    rawRequest(gateway, 'tools/call', { ...wipe(disk), _meta, requestState, inputResponses: yes })

  it('holds once, and for the same arguments', async () => {
    const gateway = workshop()
    const state = await ask(gateway)
    expect((await retry(gateway, state, 'b')).answer).toMatchObject({ error: { code: -32_602 } })
    await retry(gateway, state)
    expect(ran).toEqual(['a'])
    expect((await retry(gateway, state)).answer).toMatchObject({ error: { code: -32_602 } })
    expect(ran).toEqual(['a'])
  })

  it('is continued by another replica, and after a restart', async () => {
    const store = memoryStore()
    const state = await ask(workshop({ store }))
    await retry(workshop({ store }), state)
    expect(ran).toEqual(['a'])
  })

  it('cannot be made up', async () => {
    const forged = JSON.stringify({ ask: { tool: 'wipe', digest: '0', nonce: 'n', isGranted: true } })
    expect((await retry(workshop(), forged)).answer).toMatchObject({ error: { code: -32_602 } })
    const client = await connectClient(workshop(), { era: 'legacy' })
    const outcome = await client.callTool({ ...wipe('a'), requestState: forged } as never)
    expect(outcome).toMatchObject({ isError: true })
    expect(ran).toEqual([])
  })
})

describe('what a user always allows', () => {
  /** The user's config. */
  const config = () => {
    const tools: Record<string, string> = {}
    const set = async (tool: string, definition: string | undefined) => {
      if (definition === undefined) delete tools[tool]
      else tools[tool] = definition
    }
    return { tools, alwaysAllowed: { list: () => tools, set } }
  }
  const always = async (gateway: Gateway, token?: string) => {
    const client = await connectClient(gateway, { capabilities: CAN_BE_ASKED, ...(token ? { token } : {}) })
    const questions = answering(client, 'always')
    await client.callTool(wipe('a'))
    return questions.length
  }

  it('is written to their config, and asked about again once the definition changed', async () => {
    const { tools, alwaysAllowed } = config()
    const gateway = workshop({ alwaysAllowed })
    expect(await always(gateway)).toBe(1)
    expect(tools).toEqual({ wipe: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(await always(workshop({ alwaysAllowed }))).toBe(0)
    expect(await always(workshop({ alwaysAllowed }, 'Wipes every disk.'))).toBe(1)
    const [grant] = (await gateway.approvals.list()).grants
    expect(grant).toMatchObject({ kind: 'always', tool: 'wipe' })
    expect(await gateway.approvals.revoke(grant?.id)).toBe(1)
    expect(tools).toEqual({})
    expect(await always(gateway)).toBe(1)
  })

  it('is a grant of their own where the gateway has several users', async () => {
    const { tools, alwaysAllowed } = config()
    const tokens = ['ada', 'bob'].map((name) => ({ name, token: `a-token-of-${name}-123` }))
    const gateway = workshop({ alwaysAllowed, tokens })
    for (const { token } of tokens) expect(await always(gateway, token)).toBe(1)
    expect(tools).toEqual({})
    expect((await gateway.approvals.list()).grants).toHaveLength(2)
  })
})

it('many waiting calls of one client push out none of another, and large ones stay small in the store', async () => {
  const [eve, ada] = ['eve-token-123456', 'ada-token-123456']
  const tokens = [
    { name: 'eve', token: eve },
    { name: 'ada', token: ada },
  ]
  const gateway = workshop({ tokens, limits: { askWaitMs: 1 } })
  await (await connectClient(gateway, { token: ada })).callTool(wipe('ada'))
  const client = await connectClient(gateway, { token: eve })
  for (let at = 0; at < 49; at++) await client.callTool(wipe(String(at)))
  await client.callTool(wipe('x'.repeat(100_000)))
  expect(JSON.stringify(await client.callTool(wipe('one more')))).toContain(
    'too many calls wait for it already',
  )
  const { pending } = await gateway.approvals.list()
  expect(pending).toHaveLength(51)
  expect(JSON.stringify(pending).length).toBeLessThan(60_000)
  expect(await gateway.approvals.decide(pending[0]?.id ?? '', 'once')).toMatchObject({
    args: { disk: 'ada' },
  })
})

it('an answer is about the definition that the question was about', async () => {
  const registry = new ToolRegistry({ policy: { ask: ['wipe'] } })
  const inputSchema = { type: 'object' }
  const register = (description: string) =>
    registry.registerFunction(() => void ran.push(description), {
      ...{ name: 'wipe', description, inputSchema, preload: true },
    })
  register('Wipes a disk.')
  const gateway = createGateway({ registry })
  onTestFinished(() => gateway.close())
  const client = await connectClient(gateway, { capabilities: CAN_BE_ASKED })
  let questions = 0
  client.setRequestHandler('elicitation/create', async () => {
    if (++questions > 1) return { action: 'decline' }
    registry.unregister('wipe')
    register('Wipes all disks.')
    return { action: 'accept', content: { decision: 'once' } }
  })
  await client.callTool(wipe('a'))
  expect([questions, ran]).toEqual([2, []])
})

it('an answer that was not offered is a refusal', async () => {
  const client = await connectClient(workshop(), { era: 'legacy', capabilities: CAN_BE_ASKED })
  answering(client, 'never')
  await client.callTool(wipe('a'))
  expect(ran).toEqual([])
})

it('a question shows hidden characters of the arguments, and how much of them it leaves out', async () => {
  const client = await connectClient(workshop(), { capabilities: CAN_BE_ASKED })
  const questions = answering(client)
  await client.callTool(wipe('a\u202eb\u{e0041}'))
  await client.callTool(wipe('y'.repeat(2_000)))
  expect(questions[0]).toBe('Toolcrib: run wipe {"disk":"a\\u{202e}b\\u{e0041}"}?')
  expect(questions[1]).toContain('(and 511 more characters)?')
})

it('a profile only adds to what is asked about', async () => {
  const gateway = workshop({ profiles: { work: { ask: ['other'] } } })
  const client = await connectClient(gateway, { url: 'http://localhost/mcp/work' })
  expect(await client.callTool(wipe('a'))).toMatchObject({ isError: true })
  expect(ran).toEqual([])
})
