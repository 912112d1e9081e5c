import type { Client } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { memoryStore, type Store, ToolRegistry } from 'toolcrib'
import type { GatewayOptions } from 'toolcrib/gateway'
import { createGateway } from 'toolcrib/gateway'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { connectClient, openGateway, rawRequest, serveTools } from './gateway.fixture.ts'
import { referenceServer, script } from './mcp/reference-servers.fixture.ts'

const CAN_BE_ASKED = { elicitation: { form: {} } }

/** A server of each era, with a tool that returns what it is given. */
const SERVERS = {
  modern: async () => {
    const { url } = await serveTools((server) =>
      server.registerTool(
        'echo',
        { description: 'Echoes.', inputSchema: z.object({ message: z.string() }) },
        ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
      ),
    )
    return { url }
  },
  legacy: async () => script(referenceServer('everything')),
}

const WAYS = {
  directly: (message: string) => ({ name: 'server__echo', arguments: { message } }),
  'through call_tool': (message: string) => ({
    name: 'call_tool',
    arguments: { name: 'server__echo', arguments: { message } },
  }),
}

const eras = ['modern', 'legacy'] as const
const CASES = eras.flatMap((client) =>
  eras.flatMap((server) => Object.entries(WAYS).map(([how, call]) => ({ client, server, how, call }))),
)

describe.each(CASES)(
  'a $client client that calls a tool of a $server server $how',
  ({ client: era, server, call }) => {
    const open = async (
      store: Store,
      limits: GatewayOptions['limits'] = {},
      more: Partial<GatewayOptions> = {},
    ) => {
      const registry = new ToolRegistry({ policy: { ask: ['*'] } })
      const options = {
        registry,
        store,
        mode: 'lazy' as const,
        limits: { askWaitMs: 20, ...limits },
        ...more,
      }
      return (await openGateway({ server: await SERVERS[server]() }, options)).gateway
    }
    const textOf = async (client: Client, message: string) =>
      JSON.stringify((await client.callTool(call(message))).content)
    /** Whether the server ran the call. */
    const ran = (message: string) => expect.stringContaining(`Echo: ${message}`)

    it('runs what its user allows, and nothing that they refuse or leave', async () => {
      let now = 1_000_000
      const gateway = await open(memoryStore(), { askTimeoutMs: 2_000 }, { now: () => now })
      const client = await connectClient(gateway, { era, capabilities: CAN_BE_ASKED })
      const answers = ['accept', 'decline', 'cancel'] as const
      let asked = 0
      client.setRequestHandler('elicitation/create', async () => {
        const action = answers[asked++]
        if (action !== undefined) return { action, content: { decision: 'once' } }
        // Longer than a question is open: on the gateway's clock for a state, for good if the question is pushed.
        now += 60_000
        if (era === 'legacy') await new Promise(() => {})
        return { action: 'accept', content: { decision: 'once' } }
      })
      expect(await textOf(client, 'a')).toEqual(ran('a'))
      for (const refused of ['b', 'c']) {
        const text = await textOf(client, refused)
        expect(text).toContain('The user refused')
        expect(text).not.toEqual(ran(refused))
      }
      const late = await client.callTool(call('d')).then(({ content }) => JSON.stringify(content), String)
      expect(late).not.toEqual(ran('d'))
      expect(late).toMatch(/Nothing was run|requestState|state/i)
      expect(asked).toBe(4)
    })

    it('waits for others where its user cannot be asked, over a restart and at another replica', async () => {
      const store = memoryStore()
      const gateway = await open(store)
      const before = await connectClient(gateway, { era })
      expect(await textOf(before, 'a')).toContain('waits for')
      const [pending] = (await gateway.approvals.list()).pending
      await gateway.close()
      const restarted = await open(store)
      await restarted.approvals.decide(pending?.id ?? '', 'once')
      const after = await connectClient(restarted, { era })
      expect(await textOf(after, 'b')).not.toEqual(ran('b'))
      expect(await textOf(after, 'a')).toEqual(ran('a'))
      expect(await textOf(after, 'a')).not.toEqual(ran('a'))
      const again = (await restarted.approvals.list()).pending.find(
        ({ digest }) => digest === pending?.digest,
      )
      const replica = await open(store)
      await replica.approvals.decide(again?.id ?? '', 'once')
      const elsewhere = await connectClient(replica, { era })
      expect(await textOf(elsewhere, 'a')).toEqual(ran('a'))
    })

    it.runIf(era === 'modern')(
      'continues with the answer after a restart, and at another replica',
      async () => {
        const store = memoryStore()
        const first = await open(store)
        const _meta = { 'io.modelcontextprotocol/clientCapabilities': CAN_BE_ASKED }
        const { answer } = await rawRequest(first, 'tools/call', { ...call('a'), _meta })
        const { requestState } = answer.result as Record<string, unknown>
        await first.close()
        const inputResponses = { 'toolcrib.ask': { action: 'accept', content: { decision: 'once' } } }
        const params = { ...call('a'), _meta, requestState, inputResponses }
        const [here, there] = [await open(store), await open(store)]
        const done = await rawRequest(here, 'tools/call', params)
        expect(JSON.stringify(done.answer)).toEqual(ran('a'))
        const replayed = await rawRequest(there, 'tools/call', params)
        expect(replayed.answer).toMatchObject({ error: { code: -32_602 } })
      },
    )
  },
)

/** A step of one of several clients: it calls, or sends an answer that it or another one was asked for. */
const STEPS = fc.array(
  fc.record({
    client: fc.nat(1),
    does: fc.constantFrom(
      'call' as const,
      'answer' as const,
      'steal' as const,
      'change' as const,
      'replay' as const,
    ),
    disk: fc.constantFrom('a', 'b'),
  }),
  { maxLength: 14 },
)

it('clients never answer the asks of each other, whatever the order, and no answer counts twice', async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => {
      const ran: string[] = []
      const registry = new ToolRegistry({ policy: { ask: ['wipe'] } })
      const inputSchema = { type: 'object', properties: { disk: { type: 'string' } }, required: ['disk'] }
      registry.registerFunction(({ disk }: { disk: string }) => void ran.push(disk), {
        ...{ name: 'wipe', description: 'Wipes a disk.', inputSchema },
      })
      const tokens = ['ada', 'bob'].map((name) => ({ name, token: `a-token-of-${name}-123` }))
      const store = memoryStore()
      const replicas = [0, 1].map(() => createGateway({ registry, tokens, store }))
      onTestFinished(() => Promise.all(replicas.map((gateway) => gateway.close())).then(() => {}))
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': CAN_BE_ASKED }
      const inputResponses = { 'toolcrib.ask': { action: 'accept', content: { decision: 'once' } } }
      const send = async (client: number, disk: string, more: object = {}) => {
        const headers = { authorization: `Bearer ${tokens[client]?.token}` }
        const params = { name: 'wipe', arguments: { disk }, _meta, ...more }
        const gateway = replicas[ran.length % 2]
        if (!gateway) throw new Error('two replicas')
        return (await rawRequest(gateway, 'tools/call', params, headers)).answer
      }
      const open: { client: number; disk: string; requestState: unknown }[] = []
      const used: typeof open = []
      let expected = 0
      for (const { client, does, disk } of steps) {
        const own = open.findIndex((ask) => ask.client === client)
        const taken = does === 'steal' ? open.find((ask) => ask.client !== client) : open[own]
        const ask = does === 'replay' ? used[0] : taken
        if (does === 'call' || !ask) {
          const { result } = (await send(client, disk)) as { result: { requestState: unknown } }
          open.push({ client, disk, requestState: result.requestState })
        } else {
          const { requestState } = ask
          const sent = does === 'change' ? (ask.disk === 'a' ? 'b' : 'a') : ask.disk
          await send(client, sent, { requestState, inputResponses })
          if (does === 'answer') {
            expected++
            used.push(...open.splice(own, 1))
          }
        }
        expect(ran).toHaveLength(expected)
      }
    }),
    { numRuns: 60 },
  )
})
