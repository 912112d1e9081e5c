import { estimateTokens, ToolRegistry } from 'toolcrib'
import { anthropic } from 'toolcrib/anthropic'
import { describe, expect, it } from 'vitest'
import { eventLog, registerServers, tool } from './helpers.ts'

const hello = [{ role: 'user' as const, content: 'hello' }]

/** What all tools of a surface cost together. */
function tokensOf(tools: readonly object[]): number {
  return tools.reduce((sum, definition) => sum + estimateTokens(JSON.stringify(definition)), 0)
}

describe('the context of a conversation whose server has left', () => {
  it.each(['native', 'dispatch'] as const)('counts what is still sent: %s', async (strategy) => {
    const log = eventLog()
    const pinned = ['mcp__docs__read_page', 'mcp__docs__list_pages']
    const registry = new ToolRegistry({ mode: 'lazy', pinned, onEvent: log.onEvent })
    registerServers(registry)
    const long = { description: 'Reads a page. '.repeat(50) }
    registry.syncMcp('docs', [tool('read_page', long), tool('list_pages', long)])
    const session = await registry.openSession({ dialect: anthropic(), strategy })
    expect(session.context()).toContain('Tools shown: 4,')
    session.turn(hello)
    expect(session.context()).toMatch(/docs: 2 tools/)
    registry.unregisterMcp('docs')

    const { tools } = session.surface()
    const tokens = tokensOf(tools)
    expect(tools.map(({ name }) => name)).toContain('mcp__docs__read_page')
    expect(log.of('surfaced').at(-1)).toMatchObject({ tools: tools.length, tokens })
    const after = session.context()
    expect(after).toContain(`Tools shown: ${tools.length},`)
    expect(after).toContain(`This turn: ~${tokens.toLocaleString('en-US')} tokens`)
    expect(after).toMatch(/no longer registered: 2 tools, ~/)

    const restored = await registry.openSession({ state: session.toJSON(), dialect: anthropic(), strategy })
    expect(restored.context()).toBe(after)
  })

  it('counts what has to be shown besides, where there is no search', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    registry.register(tool('one'))
    const session = await registry.openSession({ dialect: anthropic() })
    session.turn(hello)
    registry.register(tool('two'))
    expect(session.context()).toContain('Tools shown: 2,')
    expect(session.surface().tools).toHaveLength(2)
  })
})
