import { GATEWAY_CAPABILITIES } from 'toolcrib/gateway'
import { describe, expect, it } from 'vitest'
import { openGateway, rawRequest } from './gateway.fixture.ts'
import { script } from './mcp/reference-servers.fixture.ts'

const FIXTURE = new URL('./fixtures/hiding-server.mjs', import.meta.url).pathname
const _meta = { 'io.modelcontextprotocol/clientCapabilities': GATEWAY_CAPABILITIES }
type Answer = { result?: Record<string, unknown>; error?: { code: number; message: string } }

describe.each(['modern', 'legacy'] as const)('the requestState of a call to a %s server', (era) => {
  async function open(names: 'plain' | 'prefixed' = 'prefixed') {
    const server = script(FIXTURE, era)
    const mcpServers = { a: server, b: server }
    const { gateway, servers } = await openGateway(names === 'plain' ? { a: server } : mcpServers, {
      mode: 'lazy',
      names,
      askingServers: ['a', 'b'],
    })
    const send = async (method: string, params: Record<string, unknown>) =>
      (await rawRequest(gateway, method, { ...params, _meta })).answer as Answer
    /** The same request, or another one, with the answers to the questions of an earlier result. */
    const retry = (method: string, { result }: Answer, params: Record<string, unknown>) => {
      const { requestState, inputRequests } = result ?? {}
      const keys = Object.keys(inputRequests as object)
      const answers = keys.map((key) => [key, { action: 'accept', content: { name: 'ada' } }])
      return send(method, { ...params, requestState, inputResponses: Object.fromEntries(answers) })
    }
    return { gateway, servers, server, send, retry }
  }
  const INVALID = { error: { code: -32_602, message: 'Invalid or expired requestState' } }

  it.each([
    [
      'call_tool',
      (name: string, args: object) => ({ name: 'call_tool', arguments: { name, arguments: args } }),
    ],
    ['its name', (name: string, args: object) => ({ name, arguments: args })],
  ])('continues only the same tool with the same arguments, called by %s', async (_door, call) => {
    const { send, retry, gateway } = await open()
    const asked = await send('tools/call', call('a__elicit', { x: { b: 1, c: [2] } }))
    expect(asked.result).toMatchObject({ resultType: 'input_required' })
    for (const other of [
      call('b__elicit', { x: { b: 1, c: [2] } }),
      call('a__elicit', { x: { b: 2, c: [2] } }),
      call('a__elicit', {}),
      call('a__text', { x: { b: 1, c: [2] } }),
    ])
      expect(await retry('tools/call', asked, other)).toMatchObject(INVALID)
    const { result } = await retry('tools/call', asked, call('a__elicit', { x: { c: [2], b: 1 } }))
    expect(JSON.stringify(result?.content)).toContain('ada')
    expect(gateway.status().callsParked).toBe(0)
  })

  it('of one method continues no other', async () => {
    const { send, retry } = await open()
    const asked = await send('tools/call', { name: 'a__elicit', arguments: {} })
    expect(await retry('prompts/get', asked, { name: 'a__elicit', arguments: {} })).toMatchObject(INVALID)
  })

  it.runIf(era === 'modern')('never reaches a server that took the name meanwhile', async () => {
    const { send, retry, servers, server } = await open('plain')
    const call = { name: 'elicit', arguments: {} }
    const asked = await send('tools/call', call)
    expect(asked.result).toMatchObject({ resultType: 'input_required' })
    await servers.reload({ mcpServers: { b: server } })
    await servers.ready()
    expect(await retry('tools/call', asked, call)).toMatchObject(INVALID)
    const again = await retry('tools/call', await send('tools/call', call), call)
    expect(JSON.stringify(again.result?.content)).toContain('ada')
  })

  it.runIf(era === 'modern')('continues only the same prompt and resource', async () => {
    const { send, retry } = await open()
    const prompt = { name: 'a__ask', arguments: { ask: 'yes' } }
    const asked = await send('prompts/get', prompt)
    for (const other of [
      { ...prompt, name: 'b__ask' },
      { ...prompt, arguments: { ask: 'no' } },
    ])
      expect(await retry('prompts/get', asked, other)).toMatchObject(INVALID)
    expect((await retry('prompts/get', asked, prompt)).result).toMatchObject({ messages: [{ role: 'user' }] })
    const read = { uri: 'a+test://ask' }
    const reading = await send('resources/read', read)
    for (const uri of ['b+test://ask', 'a+test://page'])
      expect(await retry('resources/read', reading, { uri })).toMatchObject(INVALID)
    expect((await retry('resources/read', reading, read)).result).toMatchObject({ contents: [{}] })
  })
})
