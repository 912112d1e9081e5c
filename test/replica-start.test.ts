import { ToolRegistry } from 'toolcrib'
import { createGateway, type GatewayLimits } from 'toolcrib/gateway'
import { connectServers } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { connectClient, serveTools } from './gateway.fixture.ts'
import { MODERN_SERVER, script } from './mcp/reference-servers.fixture.ts'

const MISSING = { command: '/nowhere/to-be-found' }
const MODERN = script(MODERN_SERVER)

describe('a replica that has just started', () => {
  /** A gateway before a server that answers nothing until it is let go. */
  async function openEarly(others: Record<string, object>, limits: GatewayLimits) {
    const { url } = await serveTools((server) =>
      server.registerTool('add', { description: 'Adds.' }, () => ({
        content: [{ type: 'text', text: 'added' }],
      })),
    )
    let letGo = () => {}
    const gone = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const registry = new ToolRegistry()
    const held = async (input: string | URL | Request, init?: RequestInit) => {
      await gone
      return fetch(input, init)
    }
    const servers = connectServers(registry, { mcpServers: { late: { url }, ...others } }, { fetch: held })
    const gateway = createGateway({ registry, servers, store: memoryStore(), limits, mode: 'lazy' })
    onTestFinished(async () => {
      letGo()
      await gateway.close()
      await servers.close()
    })
    const client = await connectClient(gateway)
    const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } })
    return { call, letGo, servers }
  }

  const textOf = ({ content }: { content: unknown }) => JSON.stringify(content)

  it('runs calls of tools of a server that is still starting once it has started', async () => {
    const { call, letGo } = await openEarly({}, { listWaitMs: 1 })
    const early = [call('late__add'), call('mcp__late__add'), call('call_tool', { name: 'late__add' })]
    // A name that belongs to no server is not waited for as long; it may be a tool's all the same.
    const other = await call('add')
    expect(other.isError).toBe(true)
    expect(textOf(other)).toMatch(/not known yet: \\"late\\" is still starting/)
    letGo()
    for (const result of await Promise.all(early)) expect(textOf(result)).toContain('added')
    await expect(call('late__subtract')).rejects.toThrow(/Unknown tool: late__subtract/)
  })

  it('says why a server with unknown tools could not be started', async () => {
    const { call, servers } = await openEarly({ broken: MISSING }, {})
    await vi.waitUntil(() => servers.status().some(({ state }) => state === 'failed'), { timeout: 10_000 })
    const result = await call('broken__add')
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/server \\"broken\\" failed: .*to-be-found/)
  })

  it('does not wait for one server when a tool of another is called', async () => {
    // Longer than the test may take.
    const { call, servers } = await openEarly({ modern: MODERN }, { listWaitMs: 600_000 })
    expect((await call('modern__add', { a: 1, b: 2 })).structuredContent).toEqual({ sum: 3 })
    await expect(call('modern__substract')).rejects.toThrow(/Unknown tool: modern__substract/)
    expect(servers.status()).toContainEqual({ server: 'late', state: 'connecting' })
  })

  it('searches what is known while a server is still starting', async () => {
    const { call, servers } = await openEarly({ modern: MODERN }, { listWaitMs: 600_000 })
    await servers.ready({ servers: ['modern'] })
    const found = await call('tool_search', { query: 'add two numbers' })
    expect(textOf(found)).toContain('modern__add')
    expect(found.isError).not.toBe(true)
    expect(servers.status()).toContainEqual({ server: 'late', state: 'connecting' })
  })
})
