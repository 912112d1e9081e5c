import { describe, expect, it } from 'vitest'
import type { Tool } from '../tool.ts'
import {
  type CompiledPolicy,
  checkPolicy,
  compilePolicy,
  type Gates,
  narrowOrDeny,
  narrowPolicy,
} from './policy.ts'
import { localEntry, mcpEntry } from './registrar.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  execute: () => ({ ok: true, value: '' }),
  ...more,
})

/** A catalogue without other tools. */
const NOTHING = { get: () => undefined }

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
    const permitted = [builtin, always, plugin, mcp].filter(
      (entry) => policy.denial(entry, NOTHING) === undefined,
    )
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

describe('the reasons of a policy', () => {
  const builtin = localEntry(tool('read'), {})
  const plugin = localEntry(tool('note'), { pluginId: 'notes' })
  const mcp = mcpEntry(tool('search'), 'github')

  it.each<[Gates, typeof builtin, string]>([
    [{ filter: { excludeTools: ['read'] }, deny: ['read'] }, builtin, 'excludeTools'],
    [{ deny: ['read'], allow: [] }, builtin, 'the deny list'],
    [{ allow: ['x'] }, builtin, 'the allow list'],
    [{ allowlists: [['read'], ['x']] }, builtin, "the session's own list of tools"],
    [{ allowedTools: ['x'] }, builtin, 'the toolset (allowedTools)'],
    [{ filter: { allowedPlugins: ['x'] } }, plugin, 'allowedPlugins'],
    [{ filter: { allowedMcpServers: ['x'], allowedMcpTools: [] } }, mcp, 'allowedMcpServers'],
    [{ filter: { allowedMcpTools: ['x'] } }, mcp, 'allowedMcpTools'],
  ])('name the gate: %j', (gates, entry, reason) => {
    expect(compilePolicy(gates).denial(entry, NOTHING)).toBe(reason)
  })

  it.each<[Gates]>([
    [{ filter: { excludeTools: [] } }],
    [{ deny: [] }],
    [{ allow: ['*'] }],
    [{ allowedTools: ['*'] }],
    [{ filter: { allowedMcpTools: ['*'] } }],
    [{ filter: { allowedMcpServers: ['*'] } }],
    [{ filter: { allowedPlugins: ['*'] } }],
    [{ allowlists: [['*']] }],
  ])('are asked for wherever there is a list: %j', (gates) => {
    expect(compilePolicy(gates).isOpen).toBe(false)
  })

  it('say which servers may have a tool', () => {
    const policy = compilePolicy({ filter: { allowedMcpServers: ['git*'] } })
    expect([policy.permitsServer('github'), policy.permitsServer('slack')]).toEqual([true, false])
    expect(compilePolicy({}).permitsServer('slack')).toBe(true)
  })
})

describe('checkPolicy', () => {
  it.each<[unknown, string]>([
    [null, 'policy must be an object'],
    [[], 'policy must be an object'],
    [{ alow: [] }, 'policy has no "alow"; did you mean "allow"?'],
    [{ colour: [] }, 'policy has no "colour"; it takes allow, deny, ask, filter'],
    [{ allow: 'a' }, 'policy.allow must be an array of names, such as ["mcp__github__*"]'],
    [{ deny: [7] }, 'policy.deny must be an array of names, such as ["mcp__github__*"]'],
    [{ filter: 7 }, 'policy.filter must be an object'],
    [
      { filter: { servers: [] } },
      'policy.filter has no "servers"; it takes allowedMcpServers, allowedMcpTools, allowedPlugins, allowedApis, excludeTools',
    ],
    [
      { filter: { allowedPlugins: {} } },
      'policy.filter.allowedPlugins must be an array of names, such as ["mcp__github__*"]',
    ],
  ])('refuses %j', (policy, message) => {
    expect(() => checkPolicy(policy)).toThrow(expect.objectContaining({ code: 'config-invalid', message }))
  })

  it('takes lists that are there, absent or undefined', () => {
    for (const policy of [
      {},
      { allow: undefined, deny: [] },
      { filter: undefined },
      { filter: { excludeTools: ['a'], allowedMcpServers: undefined } },
    ])
      expect(() => checkPolicy(policy)).not.toThrow()
  })
})

describe('a policy that one call narrows', () => {
  const entries = [
    localEntry(tool('read'), {}),
    localEntry(tool('write'), {}),
    mcpEntry(tool('search'), 'github'),
  ]
  const permitted = (policy: CompiledPolicy) =>
    entries.filter((entry) => policy.denial(entry, NOTHING) === undefined).map(({ name }) => name)
  const base = compilePolicy({ deny: ['write', 'tool_search'], filter: { allowedMcpServers: ['github'] } })

  it('is the same without lists', () => {
    for (const none of [undefined, null])
      expect(narrowPolicy(base, { allowedTools: none, filter: none })).toBe(base)
  })

  it('passes both', () => {
    const narrowed = narrowPolicy(base, { allowedTools: ['write'], filter: undefined })
    expect(permitted(narrowed)).toEqual(['mcp__github__search'])
    const filtered = narrowPolicy(base, {
      allowedTools: null,
      filter: { allowedMcpServers: ['slack'], excludeTools: ['call_tool'] },
    })
    expect(permitted(filtered)).toEqual(['read'])
    expect([filtered.denialOfMetaTool('tool_search'), filtered.denialOfMetaTool('call_tool')]).toEqual([
      'the deny list',
      'excludeTools',
    ])
    expect(filtered.denialOfMetaTool('read_result')).toBeUndefined()
    expect([filtered.permitsServer('github'), filtered.permitsServer('slack')]).toEqual([false, false])
    expect(narrowPolicy(base, { allowedTools: null, filter: {} }).permitsServer('github')).toBe(true)
  })

  it('is open only when both are', () => {
    const open = compilePolicy({})
    expect(narrowPolicy(open, { allowedTools: undefined, filter: {} }).isOpen).toBe(true)
    expect(narrowPolicy(open, { allowedTools: ['*'], filter: null }).isOpen).toBe(false)
    expect(narrowPolicy(base, { allowedTools: undefined, filter: {} }).isOpen).toBe(false)
  })

  it.each<[unknown, unknown, string]>([
    ['read', undefined, 'allowedTools must be an array of names'],
    [[7], undefined, 'allowedTools must be an array of names'],
    [undefined, { exclude: [] }, 'policy.filter has no "exclude"'],
    [undefined, [], 'policy.filter must be an object'],
  ])('throws for lists that cannot be read, or permits nothing: %j, %j', (allowedTools, filter, message) => {
    const lists = { allowedTools, filter } as never
    expect(() => narrowPolicy(base, lists)).toThrow(message)
    const nothing = narrowOrDeny(base, lists)
    expect(permitted(nothing)).toEqual([])
    expect(nothing.denial(entries[0] as never, NOTHING)).toContain(message)
    expect(nothing.denialOfMetaTool('read_result')).toContain(message)
    expect([nothing.isOpen, nothing.permitsServer('github')]).toEqual([false, false])
  })

  it('narrows where nothing is wrong', () => {
    expect(permitted(narrowOrDeny(base, { allowedTools: ['read'], filter: undefined }))).toEqual([
      'read',
      'mcp__github__search',
    ])
  })
})
