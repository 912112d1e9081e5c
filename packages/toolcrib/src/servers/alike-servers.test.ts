import type { Finding } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { alikeServers } from './alike-servers.ts'

const alike = (server: string, tool: string, original: string): Finding => ({
  kind: 'clone',
  severity: 'low',
  server,
  tool,
  place: 'description',
  message: `its description is identical to that of "${tool}" of server "${original}"`,
  excerpt: 'x',
  original: { server: original, tool },
})

describe('servers that are alike', () => {
  it('are the same groups, in the same order, whichever of them answered first', () => {
    const inOneOrder = [
      alike('notes', 'add', 'memory'),
      alike('notes', 'find', 'memory'),
      alike('old', 'add', 'memory'),
      alike('files', 'read', 'disk'),
    ]
    const inAnother = [
      alike('disk', 'read', 'files'),
      alike('memory', 'add', 'old'),
      alike('notes', 'add', 'old'),
      alike('notes', 'find', 'memory'),
    ]
    const groups = [
      { servers: ['disk', 'files'], tools: 1 },
      { servers: ['memory', 'notes'], tools: 2 },
      { servers: ['memory', 'notes', 'old'], tools: 1 },
    ]
    expect(alikeServers(inOneOrder, new Map())).toEqual(groups)
    expect(alikeServers(inAnother, new Map())).toEqual(groups)
  })

  it('are not joined by a server that has one tool of each', () => {
    expect(alikeServers([alike('b', 'x', 'a'), alike('c', 'y', 'b')], new Map())).toEqual([
      { servers: ['a', 'b'], tools: 1 },
      { servers: ['b', 'c'], tools: 1 },
    ])
  })

  it('are found by their tools, which may have other names, and not by what a message says', () => {
    const found = { ...alike('b', 'x', 'a'), original: { server: 'a', tool: 'x" of server "bank' } }
    const message = 'its description is identical to that of "x" of server "bank" of server "a"'
    expect(alikeServers([{ ...found, message }], new Map())).toEqual([{ servers: ['a', 'b'], tools: 1 }])
  })

  it('have also those tools in common whose descriptions are too short for a finding', () => {
    const tools = (...names: string[]) => ({
      tools: names.map((name) => ({ name, description: `To ${name}.`, inputSchema: {} })),
    })
    const observed = new Map([
      ['a', tools('add', 'find', 'echo')],
      ['b', tools('add', 'find', 'echo', 'sum')],
      ['c', { tools: [{ name: 'echo', description: 'Shouts.', inputSchema: {} }] }],
    ])
    const findings = [alike('b', 'add', 'a'), alike('b', 'find', 'a'), alike('c', 'shout', 'a')]
    expect(alikeServers(findings, observed)).toEqual([
      { servers: ['a', 'b'], tools: 3 },
      { servers: ['a', 'c'], tools: 1 },
    ])
  })

  it('are not those of other findings', () => {
    const other: Finding = { ...alike('a', 'x', 'b'), severity: 'high' }
    expect(alikeServers([other, { ...other, kind: 'override', severity: 'low' }], new Map())).toEqual([])
  })
})
