import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ToolResult } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { type ConnectedServers, connectServers } from '../../packages/mcp/src/index.ts'
import { MODERN_SERVER, script } from './reference-servers.fixture.ts'

describe('a server of the stateless revision', () => {
  let registry = new ToolRegistry()
  let servers: ConnectedServers | undefined

  beforeEach(async () => {
    registry = new ToolRegistry()
    servers = connectServers(registry, { mcpServers: { modern: script(MODERN_SERVER) } })
    await servers.ready()
  })

  afterEach(() => servers?.close())

  async function call(name: string, args: unknown = {}, signal?: AbortSignal): Promise<ToolResult> {
    const context = { sessionId: 's', ...(signal ? { signal } : {}) }
    const [answer] = await registry.executeParallel([{ toolCallId: 'c', name, args }], context)
    if (!answer) throw new Error('no answer')
    return answer.result
  }

  it('is greeted in the modern way', async () => {
    expect((await servers?.client('modern'))?.getProtocolEra()).toBe('modern')
    expect(await call('mcp__modern__add', { a: 2, b: 3 })).toEqual({
      ok: true,
      value: '5',
      content: [{ type: 'text', text: '5' }],
      structured: { sum: 5 },
    })
  })

  it('reports changed tools by subscription', async () => {
    await call('mcp__modern__grow')
    await expect.poll(() => registry.has('mcp__modern__late'), { timeout: 5_000 }).toBe(true)
    expect(await call('mcp__modern__late')).toMatchObject({ ok: true, value: 'late' })
  })

  it('has its calls cancelled', async () => {
    const abort = new AbortController()
    const waiting = call('mcp__modern__wait', {}, abort.signal)
    await call('mcp__modern__add', { a: 1, b: 1 })
    abort.abort()
    expect(await waiting).toMatchObject({ ok: false, code: 'cancelled' })
    expect(await call('mcp__modern__add', { a: 1, b: 1 })).toMatchObject({ ok: true })
  })
})
