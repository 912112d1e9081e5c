import type { Client } from '@modelcontextprotocol/client'
import { ToolRegistry } from 'toolcrib'
import { connectServers } from 'toolcrib/mcp'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { script } from './mcp/reference-servers.fixture.ts'

const FIXTURE = new URL('./fixtures/hiding-server.mjs', import.meta.url).pathname
const ERAS = ['modern', 'legacy'] as const
const HIDDEN = /[\u200b\u202e]|\u{e0041}|\\u001b/u
const CAPABILITIES = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }

/** A client, and everything that the server could make it show. */
interface Reader {
  readonly client: Client
  readonly asked: unknown[]
  readonly logged: unknown[]
}

const call = (name: string) => (reader: Reader) =>
  reader.client.callTool({ name: `hiding__${name}`, arguments: {} }).catch((error: Error) => ({
    message: error.message,
    data: Reflect.get(error, 'data'),
  }))

/** Each way from a server to the person or model behind a client. */
const PATHS: readonly (readonly [shown: string, read: (reader: Reader) => Promise<unknown>])[] = [
  ['shown text', call('text')],
  ['shown failure', call('failure')],
  ['shown value', call('structured')],
  ['shown resource', call('blocks')],
  ['shown link', call('blocks')],
  ['shown error', call('protocol_error')],
  ['shown detail', call('protocol_error')],
  ['shown prompt', ({ client }) => client.getPrompt({ name: 'hiding__ask' })],
  ['shown page', ({ client }) => client.readResource({ uri: 'test://page' })],
  [
    'shown completion',
    ({ client }) =>
      client.complete({
        ref: { type: 'ref/prompt', name: 'hiding__ask' },
        argument: { name: 'a', value: '' },
      }),
  ],
  ['shown instructions', async ({ client }) => client.getInstructions()],
  ['shown question', (reader) => call('elicit')(reader).then(() => reader.asked)],
  ['shown visit', (reader) => call('visit')(reader).then(() => reader.asked)],
  ['shown sampling', (reader) => call('sample')(reader).then(() => reader.asked)],
  [
    'shown progress',
    async ({ client }) => {
      const notes: unknown[] = []
      const onprogress = (note: unknown) => void notes.push(note)
      await client.callTool({ name: 'hiding__progress', arguments: {} }, { onprogress })
      return notes
    },
  ],
  [
    'shown log',
    async (reader) => {
      await call('log')(reader)
      return vi.waitUntil(() => reader.logged.length > 0 && reader.logged)
    },
  ],
]

async function connect(era: 'modern' | 'legacy', serverEra: string, config: object = {}): Promise<Reader> {
  const hiding = { ...script(FIXTURE, serverEra), ...config }
  const { gateway } = await openGateway({ hiding }, { mode: 'full', askingServers: ['hiding'] })
  const client = await connectClient(gateway, { era, capabilities: CAPABILITIES })
  const reader: Reader = { client, asked: [], logged: [] }
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    reader.asked.push(params)
    return { action: 'accept', content: { name: 'ada' } }
  })
  client.setRequestHandler('sampling/createMessage', async ({ params }) => {
    reader.asked.push(params)
    return { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
  })
  client.setNotificationHandler('notifications/message', ({ params }) => void reader.logged.push(params))
  return reader
}

describe.each(ERAS)('a %s client', (era) => {
  describe.each(ERAS)('of a %s server', (serverEra) => {
    it('reads no hidden characters, on any way', async () => {
      const reader = await connect(era, serverEra)
      for (const [shown, read] of PATHS) {
        // Modern servers log only for requests with a log level, which this client does not send.
        if (shown === 'shown log' && era === 'modern') continue
        const text = JSON.stringify(await read(reader))
        expect(text).toContain(shown)
        expect([shown, HIDDEN.exec(text)?.[0]]).toEqual([shown, undefined])
      }
    })

    it('gets all bytes of a server that is lossless, except in its definitions and instructions', async () => {
      const reader = await connect(era, serverEra, { lossless: true })
      for (const [shown, read] of PATHS) {
        if (shown === 'shown log' && era === 'modern') continue
        const text = JSON.stringify(await read(reader))
        expect([shown, HIDDEN.test(text)]).toEqual([shown, shown !== 'shown instructions'])
      }
      const lists = [await reader.client.listTools(), await reader.client.listPrompts()]
      expect(JSON.stringify(lists)).not.toMatch(HIDDEN)
    })

    it('gets bytes, _meta and what writing requires unchanged', async () => {
      const { client } = await connect(era, serverEra)
      const result = await client.callTool({ name: 'hiding__exact', arguments: {} })
      expect(result.content).toEqual([
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
        { type: 'text', text: 'line\r\nمی\u200cخواهم 👩\u200d🚀 ❤\ufe0f' },
      ])
      expect(result._meta).toMatchObject({
        'example.com/kept': expect.stringContaining('\u200b'),
      })
    })
  })
})

describe.each(ERAS)('a host of a %s server', (serverEra) => {
  async function host(config: object = {}) {
    const registry = new ToolRegistry({ mode: 'full' })
    const seen: unknown[] = []
    const events: string[] = []
    registry.subscribe(({ type }) => void events.push(type))
    const servers = connectServers(
      registry,
      { mcpServers: { hiding: { ...script(FIXTURE, serverEra), ...config } } },
      {
        client: {
          capabilities: CAPABILITIES,
          onRequest: ({ method, params }) => {
            seen.push(params)
            return method === 'elicitation/create'
              ? { action: 'accept', content: { name: 'ada' } }
              : { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
          },
          onNotification: ({ params }) => void seen.push(params),
        },
      },
    )
    onTestFinished(() => servers.close())
    await servers.ready()
    const session = await registry.openSession()
    const run = async (name: string) => {
      const onProgress = (note: unknown) => void seen.push(note)
      const calls = [{ toolCallId: name, name: `mcp__hiding__${name}`, args: {} }]
      return (await session.execute(calls, { onProgress }))[0]?.result
    }
    return { run, seen, events, servers }
  }
  const NAMES = [
    'text',
    'failure',
    'structured',
    'blocks',
    'protocol_error',
    'progress',
    'log',
    'elicit',
    'visit',
    'sample',
  ]

  it('gets no hidden characters in results, events and questions', async () => {
    const { run, seen, servers } = await host()
    for (const name of NAMES) expect(JSON.stringify(await run(name))).not.toMatch(HIDDEN)
    const prompt = await servers.request('hiding', { method: 'prompts/get', params: { name: 'ask' } })
    expect(JSON.stringify([seen, prompt])).not.toMatch(HIDDEN)
    for (const shown of ['question', 'visit', 'sampling', 'progress', 'log'])
      expect(JSON.stringify(seen)).toContain(`shown ${shown}`)
    // The scanner still reports what definitions hide.
    expect(servers.findings()).toContainEqual(expect.objectContaining({ kind: 'hidden-characters' }))
  })

  it.each([true, false])(
    'gets structured content that matches its schema, lossless or not (%s)',
    async (lossless) => {
      const { run, events } = await host({ lossless })
      const result = await run('declared')
      expect(JSON.stringify(result)).toContain('shown kind')
      expect(result).not.toHaveProperty('value', expect.stringContaining('does not match'))
      expect(events).not.toContain('output-mismatch')
    },
  )

  it('is not asked by a server with asks = false', async () => {
    const { run, seen } = await host({ asks: false })
    const refusal = serverEra === 'modern' ? 'it needs input from the user' : 'Method not found'
    for (const name of ['elicit', 'sample']) expect(JSON.stringify(await run(name))).toContain(refusal)
    expect(seen).toEqual([])
  })

  it('gets all bytes of a server that is lossless', async () => {
    const { run } = await host({ lossless: true })
    expect(JSON.stringify(await run('text'))).toMatch(HIDDEN)
  })
})
