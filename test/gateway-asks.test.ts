import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Client } from '@modelcontextprotocol/client'
import { GATEWAY_CAPABILITIES } from 'toolcrib/gateway'
import type { McpEvent } from 'toolcrib/mcp'
import { describe, expect, it, vi } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))
const FOLDER = realpathSync(tmpdir())
const CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: {} }

/** Answers every question with the name of one person. */
function answerAs(client: Client, person: string): void {
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: { name: person },
  }))
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: `${person} says hello` },
  }))
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file:///home/${person}` }] }))
}

it('a server that asks for roots when it starts gets an empty list, and keeps its own folders', async () => {
  const lines: string[] = []
  const onEvent = (event: McpEvent) => void (event.type === 'server-output' && lines.push(event.line))
  const { gateway, servers } = await openGateway({}, {}, { onEvent })
  await servers.reload({ mcpServers: { files: script(referenceServer('filesystem'), FOLDER) } })
  await vi.waitFor(() => expect(lines.join('\n')).toMatch(/root/), 10_000)
  expect(lines.join('\n')).toContain('No valid root directories provided by client')
  expect(lines.join('\n')).not.toContain('Failed to request')
  const client = await connectClient(gateway)
  const answer = await client.callTool({ name: 'files__list_allowed_directories', arguments: {} })
  expect(JSON.stringify(answer.content)).toContain(FOLDER)
})

describe.each(['modern', 'legacy'] as const)('a %s client that is asked something', (era) => {
  it('answers a modern server', async () => {
    const { gateway } = await openGateway({ modern: MODERN })
    const client = await connectClient(gateway, { era, capabilities: CAPABILITIES })
    answerAs(client, 'ada')
    const result = await client.callTool({ name: 'modern__ask', arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: 'hello ada' }])
  })

  it('answers an older server, the first time it asks and later', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING })
    const client = await connectClient(gateway, { era, capabilities: CAPABILITIES })
    answerAs(client, 'ada')
    const sample = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
    for (let round = 0; round < 3; round++)
      expect(JSON.stringify(await client.callTool(sample))).toContain('ada says hello')
    expect(gateway.status().callsParked).toBe(0)
  })

  it('never gets the question of another client', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING }, { askingServers: ['everything'] })
    const people = ['ada', 'bob', 'cleo']
    const clients = await Promise.all(
      people.map(async (person) => {
        const client = await connectClient(gateway, { era, capabilities: CAPABILITIES })
        answerAs(client, person)
        return client
      }),
    )
    const sample = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(clients.map((client) => client.callTool(sample)))
      for (const [at, answer] of answers.entries())
        expect(JSON.stringify(answer)).toContain(`${people[at]} says hello`)
      const roots = await Promise.all(
        clients.map((client) => client.callTool({ name: 'everything__get-roots-list', arguments: {} })),
      )
      for (const [at, answer] of roots.entries()) {
        const text = JSON.stringify(answer)
        for (const [other, person] of people.entries())
          expect(text.includes(`/home/${person}`)).toBe(other === at)
      }
    }
  })

  it('is told to call again where a server asks for the first time, and it is not known whom', async () => {
    // Asked for roots, which it wants soon after it has started, the server would be known to ask.
    const { roots: _, ...capabilities } = GATEWAY_CAPABILITIES
    const { gateway } = await openGateway({ everything: EVERYTHING }, {}, { client: { capabilities } })
    const [ada, bob] = await Promise.all(
      ['ada', 'bob'].map(async (person) => {
        const client = await connectClient(gateway, { era, capabilities: CAPABILITIES })
        answerAs(client, person)
        return client
      }),
    )
    // Under way until it is cancelled, however long the others take.
    const over = new AbortController()
    const slow = ada
      ?.callTool(
        { name: 'everything__trigger-long-running-operation', arguments: { duration: 600, steps: 1 } },
        { signal: over.signal },
      )
      .catch((error: Error) => error.message)
    const sample = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
    await vi.waitUntil(() => gateway.status().callsUnderWay === 1, { timeout: 10_000 })
    const outcome = await bob?.callTool(sample).catch((error: Error) => error.message)
    expect(JSON.stringify(outcome)).toContain('call the tool again')
    expect(gateway.status().callsUnderWay).toBe(1)
    expect(JSON.stringify(await bob?.callTool(sample))).toContain('bob says hello')
    over.abort('enough')
    expect(await slow).toContain('enough')
  })

  it('gets the error of the protocol when it cannot be asked', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING }, { askingServers: ['everything'] })
    const client = await connectClient(gateway, { era })
    const sample = { name: 'everything__trigger-sampling-request', arguments: { prompt: 'hi', maxTokens: 9 } }
    const outcome = await client.callTool(sample).then(
      (result) => result.isError,
      (error) => error.code,
    )
    expect([true, -32_021, -32_601, -32_602]).toContain(outcome)
    expect(gateway.status().callsUnderWay).toBe(0)
    // Also the next one, whose question could be that of the call before: neither client can see it.
    const next = await connectClient(gateway, { era })
    const nextOutcome = await next.callTool(sample).then(
      (result) => result.isError,
      (error) => error.code,
    )
    expect(nextOutcome).toBe(outcome)
  })
})
