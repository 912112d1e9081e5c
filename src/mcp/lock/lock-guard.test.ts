import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { LockGuard } from './lock-guard.ts'
import { lockServers } from './lockfile.ts'

const NODE: ServerConfig = { command: 'node' }
const sun: ServerTool = { name: 'sun', description: 'Tells of the sun.', inputSchema: { type: 'object' } }

/** A registry that only knows what is held back. */
function heldNames() {
  const reasons = new Map<string, string>()
  return {
    reasons,
    quarantine: (name: string, reason: string) => void reasons.set(name, reason),
    release: (name: string) => reasons.delete(name),
  }
}

describe('tools of two servers under one registered name', () => {
  const inner: ServerTool = { ...sun, name: 'b__sun' }
  const changed = { description: 'Asks for keys.' }
  const approved = lockServers(
    new Map([
      ['a', { config: NODE, tools: [inner] }],
      ['a__b', { config: NODE, tools: [sun] }],
    ]),
  )

  it.each([
    ['a neighbour is what was approved again', (guard: LockGuard) => guard.sync('a', [inner], () => {})],
    ['a neighbour goes', (guard: LockGuard) => guard.forget('a')],
  ])('stay in quarantine when %s', (_, letGo) => {
    const registry = heldNames()
    const guard = new LockGuard(registry, approved)
    guard.sync('a__b', [{ ...sun, ...changed }], () => {})
    guard.sync('a', [{ ...inner, ...changed }], () => {})
    letGo(guard)
    expect([...registry.reasons.keys()]).toEqual(['mcp__a__b__sun'])
    guard.sync('a__b', [sun], () => {})
    expect(registry.reasons.size).toBe(0)
  })
})
