import type { Client } from '@modelcontextprotocol/client'
import type { McpServer } from '@modelcontextprotocol/server'
import { memoryStore } from 'toolcrib'
import type { GatewayOptions } from 'toolcrib/gateway'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { connectClient, openGateway, serveTools } from './gateway.fixture.ts'

const LINES = Array.from({ length: 2_000 }, (_, n) => `line ${n} of the log`).join('\n')
const ROWS = JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, name: `row ${id}` })))
const IMAGE = { type: 'image' as const, data: 'aGVsbG8h'.repeat(2_000), mimeType: 'image/png' }

/** A server of large results. */
function archive(server: McpServer): void {
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
  server.registerTool(
    'log',
    {
      description: 'The log.',
      annotations: { readOnlyHint: true },
      _meta: { 'anthropic/maxResultSizeChars': 90_000 },
    },
    () => text(LINES),
  )
  server.registerTool(
    'rows',
    { description: 'The rows.', _meta: { 'anthropic/maxResultSizeChars': 200_000 } },
    () => text(ROWS),
  )
  server.registerTool('small', { description: 'A word.' }, () => text('word'))
  server.registerTool('picture', { description: 'A picture.' }, () => ({
    content: [IMAGE, ...text(LINES).content],
  }))
  server.registerTool('broken', { description: 'Fails.' }, () => ({ ...text(LINES), isError: true }))
  server.registerTool(
    'chart',
    { description: 'Shows a chart.', _meta: { ui: { resourceUri: 'ui://chart' } } },
    () => text(LINES),
  )
  server.registerTool(
    'typed',
    { description: 'Typed.', outputSchema: z.object({ log: z.string() }) },
    () => ({ ...text(LINES), structuredContent: { log: LINES } }),
  )
}

async function open(options: Partial<GatewayOptions> = {}, server: object = {}) {
  const { url } = await serveTools(archive)
  return (await openGateway({ archive: { url, ...server } }, options)).gateway
}

const LIMITED = { limits: { maxResultTokens: 500 } }
const textsOf = ({ content }: Awaited<ReturnType<Client['callTool']>>) =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
const handleIn = (text: string | undefined) => /handle "(r_\w+)"/.exec(text ?? '')?.[1] ?? ''

describe.each(['modern', 'legacy'] as const)('results for a %s client', (era) => {
  it('are whole without a limit, and there is no read_result', async () => {
    const client = await connectClient(await open(), { era })
    expect(textsOf(await client.callTool({ name: 'archive__log' }))).toEqual([LINES])
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('read_result')
    await expect(client.callTool({ name: 'read_result', arguments: { handle: 'r_1' } })).rejects.toThrow(
      'Unknown tool',
    )
  })

  it.each(['directly', 'through call_tool'])(
    'become head, tail and a handle, and are read on %s',
    async (how) => {
      const client = await connectClient(
        await open({ ...LIMITED, mode: how === 'directly' ? 'full' : 'lazy' }),
        { era },
      )
      const call = (name: string) =>
        how === 'directly'
          ? client.callTool({ name })
          : client.callTool({ name: 'call_tool', arguments: { name, arguments: {} } })
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('read_result')
      const [text = ''] = textsOf(await call('archive__log'))
      expect(text.length).toBeLessThan(4_000)
      expect(text).toMatch(/^line 0 of the log\n/)
      expect(text).toMatch(/line 1999 of the log$/)
      const handle = handleIn(text)
      const read = async (more: object) => {
        const [answer = ''] = textsOf(
          await client.callTool({ name: 'read_result', arguments: { handle, ...more } }),
        )
        return JSON.parse(answer)
      }
      expect(JSON.stringify(await read({ offset: LINES.length - 10, limit: 10 }))).toContain('of the log')
      expect(JSON.stringify(await read({ pattern: 'line 1234 ' }))).toContain('line 1234 of the log')
      expect(textsOf(await call('archive__small'))).toEqual(['word'])
    },
  )

  it('that are JSON stay JSON', async () => {
    const client = await connectClient(await open(LIMITED), { era })
    const [rows = '', note] = textsOf(await client.callTool({ name: 'archive__rows' }))
    expect(JSON.parse(rows)[0]).toEqual({ id: 0, name: 'row 0' })
    expect(rows.length).toBeLessThan(2_000)
    expect(handleIn(note)).not.toBe('')
  })

  it('keep images, errors, user interfaces and what a schema promises', async () => {
    const client = await connectClient(await open({ ...LIMITED, mode: 'full' }), { era })
    await client.listTools()
    const { content } = await client.callTool({ name: 'archive__picture' })
    expect(content[0]).toEqual(IMAGE)
    expect(content[1]).not.toMatchObject({ text: LINES })
    for (const name of ['archive__broken', 'archive__chart'])
      expect(textsOf(await client.callTool({ name }))).toEqual([LINES])
    const typed = await client.callTool({ name: 'archive__typed' })
    expect(typed.structuredContent).toEqual({ log: LINES })
    expect(textsOf(typed)).not.toEqual([LINES])
  })
})

it('a server has its own limit, then a profile', async () => {
  const gateway = await open({ profiles: { whole: { maxResultTokens: 0 }, work: { maxResultTokens: 300 } } })
  const isWhole = async (on: typeof gateway, profile: string) => {
    const client = await connectClient(on, { url: `http://localhost/mcp${profile}` })
    const [text] = textsOf(await client.callTool({ name: 'archive__log' }))
    return text === LINES
  }
  expect(await isWhole(gateway, '')).toBe(true)
  expect(await isWhole(gateway, '/work')).toBe(false)
  const limited = await open({ ...LIMITED, profiles: { whole: { maxResultTokens: 0 } } })
  expect(await isWhole(limited, '/whole')).toBe(true)
  const own = await open({ profiles: { whole: { maxResultTokens: 0 } } }, { maxResultTokens: 300 })
  expect(await isWhole(own, '/whole')).toBe(false)
})

it('a handle is read at another replica, and by its own token only', async () => {
  const tokens = ['ada', 'bob'].map((name) => ({ name, token: `a-token-of-${name}-123` }))
  const store = memoryStore()
  const [here, there] = [await open({ ...LIMITED, tokens, store }), await open({ ...LIMITED, tokens, store })]
  const [ada = '', bob = ''] = tokens.map(({ token }) => token)
  const client = await connectClient(here, { token: ada })
  const handle = handleIn(textsOf(await client.callTool({ name: 'archive__log' }))[0])
  const read = async (token: string) =>
    textsOf(
      await (await connectClient(there, { token })).callTool({ name: 'read_result', arguments: { handle } }),
    ).join()
  expect(await read(ada)).toContain('line 0 of the log')
  expect(await read(bob)).toContain('Nothing is kept')
  const wrong = await client.callTool({ name: 'read_result', arguments: { handel: handle } })
  expect(wrong).toMatchObject({ isError: true })
})

it('a result that cannot be kept is not cut', async () => {
  const store = memoryStore()
  store.set = () => Promise.reject(new Error('disk full'))
  const client = await connectClient(await open({ ...LIMITED, store }))
  expect(textsOf(await client.callTool({ name: 'archive__log' }))).toEqual([LINES])
})

it('the dispatch tools want the largest result that a tool behind them wants', async () => {
  const sizes = async (options: Partial<GatewayOptions>, path = '') => {
    const client = await connectClient(await open({ mode: 'lazy', ...options }), {
      url: `http://localhost/mcp${path}`,
    })
    const { tools } = await client.listTools()
    return tools.flatMap(({ name, _meta: meta }) => {
      const size = meta?.['anthropic/maxResultSizeChars']
      return size === undefined ? [] : [[name, size]]
    })
  }
  expect(await sizes({})).toEqual([
    ['call_tool', 200_000],
    ['call_read_tool', 90_000],
  ])
  expect(await sizes({ profiles: { work: { deny: ['*rows'] } } }, '/work')).toEqual([
    ['call_tool', 90_000],
    ['call_read_tool', 90_000],
  ])
})
