import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { LockGuard } from './lock-guard.ts'
import { lockInForce } from './lock-layers.ts'
import { lockServers } from './lockfile.ts'

const NODE: ServerConfig = { command: 'node' }
const sun: ServerTool = { name: 'sun', description: 'Tells of the sun.', inputSchema: { type: 'object' } }

/** A registry that knows what is registered under which name, and what is held back. */
function fakeRegistry() {
  const reasons = new Map<string, string>()
  const owners = new Map<string, string>()
  return {
    reasons,
    /** What a reader sees. */
    shown: () => [...owners.keys()].filter((name) => !reasons.has(name)),
    quarantine: (name: string, reason: string) => void reasons.set(name, reason),
    release: (name: string) => reasons.delete(name),
    /** Registers by name, the first that comes; names that differ by case collide. */
    register: (server: string) => (tools: readonly ServerTool[]) => {
      for (const [name, owner] of owners) if (owner === server) owners.delete(name)
      return tools.flatMap((tool) => {
        const name = `mcp__${server}__${tool.name}`
        const isTaken = [...owners.keys()].some((other) => other.toLowerCase() === name.toLowerCase())
        if (!isTaken) owners.set(name, server)
        return isTaken ? [{ name }] : []
      })
    },
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
  const begin = () => {
    const registry = fakeRegistry()
    const guard = new LockGuard(registry, approved)
    const sync = (server: string, tools: readonly ServerTool[]) =>
      guard.sync(server, tools, registry.register(server))
    return { registry, guard, sync }
  }

  it.each([
    [
      'a neighbour is what was approved again',
      ({ sync }: ReturnType<typeof begin>) => void sync('a', [inner]),
    ],
    ['a neighbour goes', ({ guard }: ReturnType<typeof begin>) => guard.forget('a')],
  ])('stay in quarantine when %s', (_, letGo) => {
    const world = begin()
    world.sync('a__b', [{ ...sun, ...changed }])
    world.sync('a', [{ ...inner, ...changed }])
    letGo(world)
    expect([...world.registry.reasons.keys()]).toEqual(['mcp__a__b__sun'])
    world.sync('a__b', [sun])
    expect(world.registry.reasons.size).toBe(0)
  })

  it('leaves an approved tool alone when a neighbour has one of its name that is not', () => {
    const { registry, guard, sync } = begin()
    sync('a__b', [sun])
    sync('a', [{ ...inner, ...changed }])
    expect(registry.shown()).toEqual(['mcp__a__b__sun'])
    expect(guard.heldBecause('a', 'b__sun')).toContain('it changed since it was approved')
    expect(guard.heldBecause('a__b', 'sun')).toBeUndefined()
  })

  it('holds the one that takes the name when the other goes', () => {
    const { registry, guard, sync } = begin()
    sync('a__b', [sun])
    sync('a', [{ ...inner, ...changed }])
    sync('a__b', [])
    guard.forget('a__b')
    sync('a', [{ ...inner, ...changed }])
    expect([...registry.reasons.keys()]).toEqual(['mcp__a__b__sun'])
    guard.forget('a')
    expect(registry.reasons.size).toBe(0)
  })
})

describe('a tool of a server that is not approved', () => {
  const approved = lockServers(new Map([['a', { config: NODE, tools: [sun] }]]))

  it('does not take the place of one that is, under a name that differs by case alone', () => {
    const registry = fakeRegistry()
    const guard = new LockGuard(registry, approved)
    const twin = { ...sun, name: 'SUN' }
    const skipped = guard.sync('a', [twin, sun], registry.register('a'))
    expect(registry.shown()).toEqual(['mcp__a__sun'])
    expect(skipped).toEqual([{ name: 'mcp__a__SUN' }])
    expect(guard.heldBecause('a', 'SUN')).toContain('it is not in toolcrib.lock')
  })

  it('is held back, not hashed, when its schema is nested too deeply', () => {
    let inputSchema: Record<string, unknown> = {}
    for (let depth = 0; depth < 20_000; depth++) inputSchema = { properties: { a: inputSchema } }
    const registry = fakeRegistry()
    const guard = new LockGuard(registry, approved)
    guard.sync('a', [sun, { ...sun, name: 'deep', inputSchema }], registry.register('a'))
    expect(registry.shown()).toEqual(['mcp__a__sun'])
    expect(guard.heldBecause('a', 'deep')).toBe('its schema is nested too deeply to be approved')
  })
})

describe('a lock that is required', () => {
  const guard = (isRequired: boolean) =>
    new LockGuard(
      fakeRegistry(),
      lockInForce(
        [{ path: '/p/toolcrib.lock', servers: new Set(['a']), resting: new Set(), lockfile: undefined }],
        { isRequired },
      ),
    )

  it('keeps servers from being started where there is no lockfile', () => {
    expect(guard(true).refusal('a', NODE)).toContain('there is no /p/toolcrib.lock, so it was not started')
    expect(guard(true).isOn).toBe(true)
    expect(guard(false).refusal('a', NODE)).toBeUndefined()
  })
})

it('a server that becomes trusted, or is no more, must be approved', () => {
  const trusted = { ...NODE, trust: true }
  const guard = (config: ServerConfig) =>
    new LockGuard(fakeRegistry(), lockServers(new Map([['a', { config, tools: [sun] }]])))
  expect(guard(NODE).refusal('a', trusted)).toContain('its command changed since it was approved (trust)')
  expect(guard(trusted).refusal('a', NODE)).toContain('(trust)')
  expect(guard(trusted).refusal('a', trusted)).toBeUndefined()
})
