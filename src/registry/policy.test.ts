import { describe, expect, it } from 'vitest'
import type { Tool } from '../tool.ts'
import { compilePolicy, type Gates, matcher } from './policy.ts'
import { localEntry, mcpEntry } from './to-entry.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  execute: () => ({ ok: true, value: '' }),
  ...more,
})

describe('matcher', () => {
  it.each([
    ['*', 'anything', true],
    ['mcp__github__*', 'mcp__github__search', true],
    ['mcp__github__*', 'mcp__gitlab__search', false],
    ['*_search', 'web_search', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['search', 'Search', false],
  ])('%s against %s is %s', (pattern, name, expected) => {
    expect(matcher([pattern])?.(name)).toBe(expected)
  })

  it('matches nothing with an empty list and is absent without one', () => {
    expect(matcher([])?.('a')).toBe(false)
    expect(matcher(undefined)).toBeUndefined()
  })
})

describe('compilePolicy', () => {
  const builtin = localEntry(tool('read'), {})
  const always = localEntry(tool('help', { alwaysInclude: true }), {})
  const plugin = localEntry(tool('note'), { pluginId: 'notes' })
  const mcp = mcpEntry(tool('search'), 'github')

  it.each<[string, Gates, string[]]>([
    ['nothing given permits all', {}, ['read', 'help', 'note', 'mcp__github__search']],
    ['an empty allow list permits none', { allow: [] }, []],
    ['deny wins over allow', { allow: ['*'], deny: ['read'] }, ['help', 'note', 'mcp__github__search']],
    ['the toolset gate is for built-ins', { allowedTools: [] }, ['help', 'note', 'mcp__github__search']],
    [
      'alwaysInclude passes the toolset gate',
      { allowedTools: ['read'] },
      ['read', 'help', 'note', 'mcp__github__search'],
    ],
    [
      'alwaysInclude does not pass an exclusion',
      { filter: { excludeTools: ['help'] } },
      ['read', 'note', 'mcp__github__search'],
    ],
    ['no MCP servers', { filter: { allowedMcpServers: [] } }, ['read', 'help', 'note']],
    ['other MCP servers', { filter: { allowedMcpServers: ['slack'] } }, ['read', 'help', 'note']],
    ['no MCP tools', { filter: { allowedMcpTools: [] } }, ['read', 'help', 'note']],
    ['no plugins', { filter: { allowedPlugins: [] } }, ['read', 'help', 'mcp__github__search']],
    ['a second allow list', { allow: ['read', 'note'], allowlists: [['note', 'help']] }, ['note']],
  ])('%s', (_, gates, names) => {
    const policy = compilePolicy(gates)
    const permitted = [builtin, always, plugin, mcp].filter((entry) => policy.denial(entry) === undefined)
    expect(permitted.map(({ name }) => name)).toEqual(names)
  })

  it('lets meta-tools pass allow lists, and removes them by deny or exclusion', () => {
    expect(compilePolicy({ allow: [], allowlists: [[]] }).denialOfMetaTool('tool_search')).toBeUndefined()
    expect(compilePolicy({ deny: ['tool_*'] }).denialOfMetaTool('tool_search')).toBe('the deny list')
    expect(compilePolicy({ filter: { excludeTools: ['tool_search'] } }).denialOfMetaTool('tool_search')).toBe(
      'excludeTools',
    )
  })

  it('knows when it refuses nothing', () => {
    expect(compilePolicy({ filter: {} }).isOpen).toBe(true)
    expect(compilePolicy({ deny: [] }).isOpen).toBe(false)
  })
})
