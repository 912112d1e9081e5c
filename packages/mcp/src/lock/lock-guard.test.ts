import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import { LockGuard } from './lock-guard.ts'
import { lockInForce } from './lock-layers.ts'
import { lockServers } from './lockfile.ts'

const NODE: ServerConfig = { command: 'node' }
const sun: ServerTool = { name: 'sun', description: 'Tells of the sun.', inputSchema: { type: 'object' } }

/** A registry that tracks registered names and quarantined tools. */
function fakeRegistry() {
  const reasons = new Map<string, string>()
  const owners = new Map<string, string>()
  return {
    reasons,
    /** The visible tools. */
    shown: () => [...owners.keys()].filter((name) => !reasons.has(name)),
    quarantine: (name: string, reason: string) => void reasons.set(name, reason),
    release: (name: string) => reasons.delete(name),
    sourceOf: (name: string) => {
      const server = owners.get(name)
      return server === undefined ? undefined : ({ kind: 'mcp', server } as const)
    },
    /** Registers by name, first come first served; names that differ only by case collide. */
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
      'the tool of the other server matches its approval again',
      ({ sync }: ReturnType<typeof begin>) => void sync('a', [inner]),
    ],
    ['the other server is removed', ({ guard }: ReturnType<typeof begin>) => guard.forget('a')],
  ])('stay in quarantine when %s', (_, letGo) => {
    const world = begin()
    world.sync('a__b', [{ ...sun, ...changed }])
    world.sync('a', [{ ...inner, ...changed }])
    letGo(world)
    expect([...world.registry.reasons.keys()]).toEqual(['mcp__a__b__sun'])
    world.sync('a__b', [sun])
    expect(world.registry.reasons.size).toBe(0)
  })

  it("does not affect an approved tool when another server's tool of the same name is unapproved", () => {
    const { registry, guard, sync } = begin()
    sync('a__b', [sun])
    sync('a', [{ ...inner, ...changed }])
    expect(registry.shown()).toEqual(['mcp__a__b__sun'])
    expect(guard.heldBecause('a', 'b__sun')).toContain('it changed since it was approved')
    expect(guard.heldBecause('a__b', 'sun')).toBeUndefined()
  })

  it('quarantines the tool that takes over the name when the other is removed', () => {
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

  it('does not replace an approved tool whose name differs only by case', () => {
    const registry = fakeRegistry()
    const guard = new LockGuard(registry, approved)
    const twin = { ...sun, name: 'SUN' }
    const skipped = guard.sync('a', [twin, sun], registry.register('a'))
    expect(registry.shown()).toEqual(['mcp__a__sun'])
    expect(skipped).toEqual([{ name: 'mcp__a__SUN' }])
    expect(guard.heldBecause('a', 'SUN')).toContain('it is not in toolcrib.lock')
  })

  it('is quarantined without hashing when its schema is nested too deeply', () => {
    let inputSchema: Record<string, unknown> = {}
    for (let depth = 0; depth < 20_000; depth++) inputSchema = { properties: { a: inputSchema } }
    const registry = fakeRegistry()
    const guard = new LockGuard(registry, approved)
    guard.sync('a', [sun, { ...sun, name: 'deep', inputSchema }], registry.register('a'))
    expect(registry.shown()).toEqual(['mcp__a__sun'])
    expect(guard.heldBecause('a', 'deep')).toBe('its schema is too deeply nested to be approved')
  })
})

describe('a required lock', () => {
  const guard = (isRequired: boolean) =>
    new LockGuard(
      fakeRegistry(),
      lockInForce(
        [{ path: '/p/toolcrib.lock', servers: new Set(['a']), resting: new Set(), lockfile: undefined }],
        { isRequired },
      ),
    )

  it('prevents servers from starting without a lockfile', () => {
    expect(guard(true).refusal('a', NODE)).toContain(
      'a lockfile is required but /p/toolcrib.lock does not exist, so it was not started',
    )
    expect(guard(true).isOn).toBe(true)
    expect(guard(false).refusal('a', NODE)).toBeUndefined()
  })
})

it('a server whose trust changes must be approved again', () => {
  const trusted = { ...NODE, trust: true }
  const guard = (config: ServerConfig) =>
    new LockGuard(fakeRegistry(), lockServers(new Map([['a', { config, tools: [sun] }]])))
  expect(guard(NODE).refusal('a', trusted)).toContain('its command changed since it was approved (trust)')
  expect(guard(trusted).refusal('a', NODE)).toContain('(trust)')
  expect(guard(trusted).refusal('a', trusted)).toBeUndefined()
})
