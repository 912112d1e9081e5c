import { type Tool, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { call, eventLog, shown, tool } from './helpers.ts'

describe('isAvailable', () => {
  const answers: [string, () => unknown, boolean][] = [
    ['true', () => true, true],
    ['false', () => false, false],
    ['a promise of true', async () => true, false],
    ['a promise that rejects', () => Promise.reject(new Error('no')), false],
    ['undefined', () => undefined, false],
    ['null', () => null, false],
    ['1', () => 1, false],
    ['"yes"', () => 'yes', false],
    ['an object', () => ({}), false],
    [
      'nothing, but throws',
      () => {
        throw new Error('no')
      },
      false,
    ],
  ]
  it.each(answers)('that returns %s: only true passes', async (_, isAvailable, passes) => {
    const log = eventLog()
    const registry = new ToolRegistry({ mode: 'lazy', onEvent: log.onEvent })
    const guarded = { isAvailable: isAvailable as Tool['isAvailable'] } as Partial<Tool>
    registry.register(tool('own', guarded))
    registry.syncMcp('s', [tool('far', guarded), tool('other')])
    const session = await registry.openSession()
    const count = passes ? 1 : 0
    expect(shown(session).filter((name) => name === 'own')).toHaveLength(count)
    expect(registry.toDefinitions().filter(({ name }) => name !== 'mcp__s__other')).toHaveLength(2 * count)
    expect(registry.getAvailable()).toHaveLength(1 + 2 * count)
    expect((await registry.search('select:own,mcp__s__far')).matches).toHaveLength(2 * count)
    expect((await session.activate(['mcp__s__far'])).activated).toHaveLength(count)
    for (const name of ['own', 'mcp__s__far']) {
      const result = await call(session, name)
      expect(result.ok).toBe(passes)
      if (!result.ok)
        expect(result).toMatchObject({ code: 'not_available', error: `"${name}" is not currently available` })
    }
    expect(registry.explain('own').state).toBe(passes ? 'visible' : 'unavailable')
    if (!passes && isAvailable !== answers[1]?.[1])
      for (const name of ['own', 'mcp__s__far'])
        expect(log.of('tool-hidden')).toContainEqual(expect.objectContaining({ name }))
  })
})
