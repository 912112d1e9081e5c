import { type Tool, ToolRegistry } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { ToolNames } from './tool-names.ts'

function tool(name: string): Tool {
  return { name, description: name, inputSchema: {}, execute: () => ({ ok: true, value: '' }) }
}

describe('names of tools', () => {
  const registry = new ToolRegistry()
  registry.syncMcp('github', [tool('search'), tool('create_issue'), tool('call_read_tool')])
  registry.syncMcp('my server', [tool('search'), tool('x'.repeat(80))])
  registry.register(tool('read_file'))
  const shown = (style: 'prefixed' | 'plain', name: string) => new ToolNames(registry, style).shown(name)

  it('have the server in front', () => {
    expect(shown('prefixed', 'mcp__github__search')).toBe('github__search')
    expect(shown('prefixed', 'read_file')).toBe('read_file')
  })

  it("are the server's own where only one has it", () => {
    expect(shown('plain', 'mcp__github__create_issue')).toBe('create_issue')
    expect(shown('plain', 'mcp__github__search')).toBe('github__search')
    expect(shown('plain', 'mcp__github__call_read_tool')).toBe('github__call_read_tool')
  })

  it('are such that every client takes them, and lead back to their tool', () => {
    for (const style of ['prefixed', 'plain'] as const) {
      const names = new ToolNames(registry, style)
      const all = registry.listSchemas().map(({ name }) => names.shown(name))
      expect(new Set(all).size).toBe(all.length)
      for (const name of all) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/)
      for (const { name } of registry.listSchemas())
        expect(names.ofShown(names.shown(name))?.registered).toBe(name)
    }
  })
})
