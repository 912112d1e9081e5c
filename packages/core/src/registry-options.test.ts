import { describe, expect, it } from 'vitest'
import { ToolcribError, ToolRegistry } from './index.ts'

/** What callers without types may write. */
const untyped = (value: unknown) => value as never

describe('the options of a registry', () => {
  it('are refused when it does not know them, with the one that was likely meant', () => {
    expect(() => new ToolRegistry(untyped({ toolTreshold: 5 }))).toThrow(
      'a registry has no option "toolTreshold"; did you mean "toolThreshold"?',
    )
    expect(() => new ToolRegistry(untyped({ max_active: 5 }))).toThrow('did you mean "maxActive"?')
    expect(() => new ToolRegistry(untyped({ colour: 'blue' }))).toThrow(/it takes mode, defer, /)
    expect(() => new ToolRegistry(untyped({ colour: undefined }))).not.toThrow()
  })

  it('must be an object', () => {
    for (const options of [null, 'lazy', []])
      expect(() => new ToolRegistry(untyped(options))).toThrow(ToolcribError)
  })

  it('are not those of a session, nor the other way round', async () => {
    const registry = new ToolRegistry()
    await expect(registry.openSession(untyped({ mod: 'lazy' }))).rejects.toThrow('did you mean "mode"?')
    await expect(registry.openSession(untyped({ reducers: {} }))).rejects.toMatchObject({
      code: 'config-invalid',
    })
    await expect(registry.openSession({ id: 'a', mode: 'lazy' })).resolves.toMatchObject({ id: 'a' })
    expect(() => new ToolRegistry(untyped({ id: 'a' }))).toThrow('a registry has no option "id"')
  })
})

describe('a list of tools', () => {
  it('is refused when it is not an array', () => {
    const registry = new ToolRegistry()
    for (const tools of [{}, undefined, 'tools']) {
      expect(() => registry.registerAll(untyped(tools))).toThrow('registerAll() takes an array of tools')
      expect(() => registry.syncMcp('server', untyped(tools))).toThrow('syncMcp() takes an array of tools')
    }
    expect(() => registry.registerAll(untyped({}))).toThrow(ToolcribError)
  })
})
