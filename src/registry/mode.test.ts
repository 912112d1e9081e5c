import { describe, expect, it } from 'vitest'
import type { Tool } from '../tool.ts'
import { type Defer, decideMode, defersAll, isDeferred, type Mode, type ModeSettings } from './mode.ts'
import { localEntry, mcpEntry } from './to-entry.ts'

const settings: ModeSettings = { mode: 'auto', defer: 'mcp', toolThreshold: 15, thresholdPercent: 10 }

describe('decideMode', () => {
  it('turns lazy at the threshold', () => {
    expect(decideMode(settings, { size: 14, tokens: 0 }, false).isLazy).toBe(false)
    expect(decideMode(settings, { size: 15, tokens: 0 }, false)).toMatchObject({ isLazy: true, isAuto: true })
  })

  it('stays lazy until the catalogue is clearly smaller', () => {
    expect(decideMode(settings, { size: 12, tokens: 0 }, true).isLazy).toBe(true)
    expect(decideMode(settings, { size: 11, tokens: 0 }, true).isLazy).toBe(false)
  })

  it('turns lazy when definitions take too much of the context window', () => {
    const sized = { ...settings, contextWindow: 1000 }
    expect(decideMode(sized, { size: 2, tokens: 100 }, false).isLazy).toBe(false)
    expect(decideMode(sized, { size: 2, tokens: 101 }, false).isLazy).toBe(true)
    expect(decideMode(sized, { size: 2, tokens: 85 }, true).isLazy).toBe(true)
  })

  it('asks for no token count without a context window', () => {
    const catalogue = {
      size: 2,
      get tokens(): number {
        throw new Error('counted')
      },
    }
    expect(decideMode(settings, catalogue, false).isLazy).toBe(false)
  })

  it('does as it is told otherwise', () => {
    expect(decideMode({ ...settings, mode: 'full' }, { size: 999, tokens: 0 }, true).isLazy).toBe(false)
    expect(decideMode({ ...settings, mode: 'lazy' }, { size: 1, tokens: 0 }, false)).toMatchObject({
      isLazy: true,
      isAuto: false,
    })
  })
})

describe('the reason of a decision', () => {
  it.each<[Partial<ModeSettings>, { size: number; tokens: number }, string]>([
    [{ mode: 'full' }, { size: 3, tokens: 0 }, 'mode is full'],
    [{ mode: 'lazy' }, { size: 3, tokens: 0 }, 'mode is lazy'],
    [{}, { size: 3, tokens: 0 }, '3 tools, threshold 15'],
    [{}, { size: 20, tokens: 0 }, '20 tools, threshold 15'],
    [{ contextWindow: 1000 }, { size: 3, tokens: 200 }, 'definitions take 200 of 100 tokens'],
    [{ contextWindow: 1000 }, { size: 3, tokens: 100 }, '3 tools, threshold 15'],
  ])('%j with %j', (more, catalogue, reason) => {
    expect(decideMode({ ...settings, ...more }, catalogue, false).reason).toBe(reason)
  })

  it('is automatic only where auto mode chose lazy', () => {
    expect(decideMode(settings, { size: 3, tokens: 0 }, false)).toMatchObject({
      isLazy: false,
      isAuto: false,
    })
    expect(decideMode({ ...settings, mode: 'full' }, { size: 99, tokens: 0 }, false).isAuto).toBe(false)
    const sized = { ...settings, contextWindow: 1000 }
    expect(decideMode(sized, { size: 2, tokens: 101 }, false)).toMatchObject({ isLazy: true, isAuto: true })
    expect(decideMode(sized, { size: 2, tokens: 80 }, true).isLazy).toBe(false)
  })
})

const tool = (name: string, deferred?: boolean): Tool => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  execute: () => ({ ok: true, value: '' }),
  ...(deferred === undefined ? {} : { deferred }),
})
const ENTRIES = {
  own: localEntry(tool('own'), {}),
  flagged: localEntry(tool('flagged', true), {}),
  never: localEntry(tool('never', false), {}),
  preloaded: localEntry(tool('preloaded', true), { preload: true }),
  plugin: localEntry(tool('plugin'), { pluginId: 'p' }),
  mcp: mcpEntry(tool('mcp'), 's'),
  pinnedMcp: mcpEntry(tool('pinned'), 's', { lazy: false }),
}

describe('isDeferred', () => {
  it.each<[Mode, boolean, Defer, (keyof typeof ENTRIES)[]]>([
    ['full', false, 'all', []],
    ['full', true, 'all', []],
    ['auto', false, 'all', ['flagged']],
    ['auto', true, 'all', ['own', 'flagged', 'plugin', 'mcp']],
    ['lazy', true, 'all', ['own', 'flagged', 'plugin', 'mcp']],
    ['lazy', true, 'mcp', ['flagged', 'plugin', 'mcp']],
    ['lazy', true, 'auto', ['flagged', 'plugin', 'mcp']],
    ['lazy', true, 'flagged', ['flagged']],
  ])('mode %s, lazy %s, defer %s', (mode, isLazy, defer, expected) => {
    const deferred = Object.entries(ENTRIES).filter(([, entry]) => isDeferred(entry, { mode, isLazy, defer }))
    expect(deferred.map(([name]) => name)).toEqual(expected)
  })
})

describe('defersAll', () => {
  const own = (count: number) =>
    Array.from({ length: count }, (_, index) => localEntry(tool(`own_${index}`), {}))
  const auto: ModeSettings = { ...settings, defer: 'auto', toolThreshold: 10 }
  const asked = (count: number, { did = false, isLazy = true, more = {} as Partial<ModeSettings> } = {}) =>
    defersAll(own(count), { ...auto, ...more }, { isLazy, did })

  it('once so many would stay shown, and no longer when clearly fewer would', () => {
    expect([asked(9), asked(10)]).toEqual([false, true])
    expect([asked(8, { did: true }), asked(7, { did: true })]).toEqual([true, false])
  })

  it('under defer auto alone, and only in lazy mode', () => {
    for (const defer of ['mcp', 'all', 'flagged'] as const) expect(asked(50, { more: { defer } })).toBe(false)
    expect(asked(50, { isLazy: false })).toBe(false)
  })

  it('counts what would stay: neither what is deferred anyway nor what never is', () => {
    const others = Object.values(ENTRIES).filter(({ name }) => name !== 'own')
    expect(defersAll([...own(9), ...others, ...others], auto, { isLazy: true, did: false })).toBe(false)
    expect(defersAll([...own(9), ENTRIES.own], auto, { isLazy: true, did: false })).toBe(true)
  })
})
