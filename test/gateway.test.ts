import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../packages/core/src/store/memory-store.ts'
import { connectClient, openGateway, rawRequest, serveTools } from './gateway.fixture.ts'
import { HOSTILE_SERVER, MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const PLAIN = script(HOSTILE_SERVER)
const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))

describe.each(['modern', 'legacy'] as const)('a %s client of the gateway', (era) => {
  it('lists the tools of every server under prefixed names, and calls them', async () => {
    const { gateway } = await openGateway({ modern: MODERN, everything: EVERYTHING }, { mode: 'full' })
    const client = await connectClient(gateway, { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['modern__add', 'modern__ask', 'everything__echo']),
    )
    const sum = await client.callTool({ name: 'modern__add', arguments: { a: 1, b: 2 } })
    expect(sum).toMatchObject({ content: [{ type: 'text', text: '3' }], structuredContent: { sum: 3 } })
    const echo = await client.callTool({ name: 'everything__echo', arguments: { message: 'hi' } })
    expect(echo).toMatchObject({ content: [{ type: 'text', text: 'Echo: hi' }] })
  })

  it('sees a search tool and two callers, and calls what it finds', async () => {
    const { gateway } = await openGateway({ modern: MODERN, plain: PLAIN }, { mode: 'lazy' })
    const client = await connectClient(gateway, { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['tool_search', 'call_tool', 'call_read_tool'])
    const found = await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    const { matches } = found.structuredContent as { matches: object[] }
    expect(matches[0]).toMatchObject({ name: 'modern__add' })
    expect(matches[0]).not.toHaveProperty('call_with')
    const args = { name: 'modern__add', arguments: { a: 1, b: 2 } }
    expect(await client.callTool({ name: 'call_tool', arguments: args })).toMatchObject({
      structuredContent: { sum: 3 },
    })
    expect(await client.callTool({ name: 'call_read_tool', arguments: args })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('does not say that it only reads; call it with call_tool') }],
    })
  })

  it('reads through the door for reading what says that it only reads, and nothing else', async () => {
    const ran: string[] = []
    const annotated: Record<string, object> = {
      reads: { annotations: { readOnlyHint: true } },
      writes: { annotations: { readOnlyHint: false } },
      destroys: { annotations: { readOnlyHint: true, destructiveHint: true } },
      boasts: { annotations: { idempotentHint: true } },
      silent: {},
    }
    const { url } = await serveTools((server) => {
      for (const [name, config] of Object.entries(annotated))
        server.registerTool(name, config, async () => {
          ran.push(name)
          return { content: [{ type: 'text', text: name }] }
        })
    })
    const { gateway } = await openGateway({ hints: { type: 'http', url } }, { mode: 'lazy' })
    const client = await connectClient(gateway, { era })
    const read = async (name: string) => {
      const result = await client.callTool({ name: 'call_read_tool', arguments: { name, arguments: {} } })
      return result.isError !== true
    }
    for (const name of Object.keys(annotated))
      expect([name, await read(`hints__${name}`)]).toEqual([name, name === 'reads'])
    for (const name of ['hints__nothing', 'call_tool', 'call_read_tool', 'tool_search'])
      expect(await read(name)).toBe(false)
    expect(ran).toEqual(['reads'])
  })

  it('calls a tool by any of its names', async () => {
    const { gateway } = await openGateway({ modern: MODERN }, { mode: 'full', names: 'plain' })
    const client = await connectClient(gateway, { era })
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('add')
    for (const name of ['add', 'modern__add', 'mcp__modern__add', 'modern.add'])
      expect(await client.callTool({ name, arguments: { a: 1, b: 2 } })).toMatchObject({
        structuredContent: { sum: 3 },
      })
    await expect(client.callTool({ name: 'subtract', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('Unknown tool: subtract'),
    })
  })

  it('gets the error of a server unchanged', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const client = await connectClient(gateway, { era })
    await expect(client.callTool({ name: 'plain__error', arguments: {} })).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('out of paper'),
      data: { tray: 2 },
    })
  })

  it('gets all progress before the result, the last one too', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const client = await connectClient(gateway, { era })
    for (let round = 0; round < 5; round++) {
      const seen: unknown[] = []
      await client.callTool(
        { name: 'plain__burst', arguments: {} },
        { onprogress: ({ progress }) => seen.push(progress) },
      )
      expect(seen).toEqual([1, 2, 3])
    }
  })

  it('cancels a call on its server too', async () => {
    const { gateway, servers } = await openGateway({ plain: PLAIN })
    const client = await connectClient(gateway, { era })
    const abort = new AbortController()
    const hanging = client.callTool({ name: 'plain__hang', arguments: {} }, { signal: abort.signal })
    await expect.poll(() => gateway.status().callsUnderWay).toBe(1)
    abort.abort(new Error('enough'))
    await expect(hanging).rejects.toThrow('enough')
    await expect
      .poll(async () => {
        const params = { name: 'cancellations', arguments: {} }
        const { content } = await servers.request('plain', { method: 'tools/call', params })
        return JSON.parse((content as [{ text: string }])[0].text)
      })
      .toHaveLength(1)
    expect(gateway.status().callsUnderWay).toBe(0)
  })

  it('reaches resources, templates, prompts and completions', async () => {
    const { gateway } = await openGateway({ everything: EVERYTHING, plain: PLAIN })
    const client = await connectClient(gateway, { era })
    const { resources } = await client.listResources()
    const [first] = resources
    expect(first).toBeDefined()
    const { contents } = await client.readResource({ uri: first?.uri ?? '' })
    expect(contents).toMatchObject([{ uri: first?.uri }])
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.length).toBeGreaterThan(0)
    const dynamic = await client.readResource({ uri: 'demo://resource/dynamic/text/7' })
    expect(dynamic.contents).toMatchObject([{ text: expect.stringContaining('7') }])
    await expect(client.readResource({ uri: 'nobody://knows' })).rejects.toMatchObject({ code: -32_602 })
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('everything__simple-prompt')
    const prompt = await client.getPrompt({ name: 'everything__simple-prompt' })
    expect(prompt.messages).toHaveLength(1)
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
      argument: { name: 'department', value: 'E' },
    })
    expect(completion.values).toContain('Engineering')
  })
})

describe('the gateway', () => {
  it('shows structured content of any type to modern clients, and as an object to older ones', async () => {
    const { url } = await serveTools((server) =>
      server.registerTool('primes', { outputSchema: z.array(z.number()) }, async () => ({
        content: [],
        structuredContent: [2, 3, 5],
      })),
    )
    const { gateway } = await openGateway({ numbers: { type: 'http', url } }, { mode: 'full' })
    const seen = async (era: 'modern' | 'legacy') => {
      const client = await connectClient(gateway, { era })
      const { tools } = await client.listTools()
      const { structuredContent } = await client.callTool({ name: 'numbers__primes', arguments: {} })
      return [tools[0]?.outputSchema?.type, structuredContent]
    }
    expect(await seen('modern')).toEqual(['array', [2, 3, 5]])
    expect(await seen('legacy')).toEqual([undefined, { result: [2, 3, 5] }])
  })

  it('forwards unknown fields unchanged', async () => {
    const { gateway } = await openGateway({ plain: PLAIN })
    const { answer } = await rawRequest(gateway, 'tools/call', { name: 'plain__odd_blocks', arguments: {} })
    expect(answer.result).toMatchObject({
      content: [{ type: 'hologram', depth: 3 }, 'no block'],
      _meta: { 'x/trace': 'abc' },
    })
  })

  it('lists the same bytes after a restart, before any server runs', async () => {
    const store = memoryStore()
    const lists: string[] = []
    for (const start of ['eager', 'on-demand'])
      for (const mode of ['full', 'lazy'] as const) {
        const both = { plain: { ...PLAIN, start }, modern: { ...MODERN, start } }
        const { gateway, servers } = await openGateway(both, { mode }, { store })
        const { answer } = await rawRequest(gateway, 'tools/list')
        lists.push(JSON.stringify(answer.result))
        if (start === 'on-demand')
          expect(servers.status().map(({ state }) => state)).toEqual(['cold', 'cold'])
      }
    expect(lists[2]).toBe(lists[0])
    expect(lists[3]).toBe(lists[1])
  })
})
