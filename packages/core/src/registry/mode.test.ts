import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Tool } from '../tool.ts'
import {
  type Defer,
  decideMode,
  defersAll,
  isDeferred,
  isLeftShown,
  type Mode,
  type ModeFigures,
  ModeHistory,
  type ModeSettings,
} from './mode.ts'
import { localEntry, mcpEntry } from './registrar.ts'

const settings: ModeSettings = { mode: 'auto', defer: 'mcp', toolThreshold: 15, thresholdPercent: 10 }

/** The figures of a catalogue now, and as they were before. */
function figures(
  now: Pick<ModeFigures, 'size' | 'tokens'>,
  before: Pick<ModeFigures, 'size' | 'tokens'> = now,
): ModeFigures {
  const catalogue = { ...before, undecided: 0 }
  const history = new ModeHistory(catalogue, () => {})
  expect(history.steadyTokens).toBe(before.tokens)
  Object.assign(catalogue, now)
  history.update()
  return history
}

describe('decideMode', () => {
  it('turns lazy at the threshold', () => {
    expect(decideMode(settings, figures({ size: 14, tokens: 0 })).isLazy).toBe(false)
    expect(decideMode(settings, figures({ size: 15, tokens: 0 }))).toMatchObject({
      isLazy: true,
      isAuto: true,
    })
  })

  it('stays lazy until the catalogue is clearly smaller', () => {
    expect(decideMode(settings, figures({ size: 12, tokens: 0 }, { size: 15, tokens: 0 })).isLazy).toBe(true)
    expect(decideMode(settings, figures({ size: 11, tokens: 0 }, { size: 15, tokens: 0 })).isLazy).toBe(false)
  })

  it('turns lazy when definitions take too much of the context window', () => {
    const sized = { ...settings, contextWindow: 1000 }
    expect(decideMode(sized, figures({ size: 2, tokens: 100 })).isLazy).toBe(false)
    expect(decideMode(sized, figures({ size: 2, tokens: 101 })).isLazy).toBe(true)
    expect(decideMode(sized, figures({ size: 2, tokens: 85 }, { size: 2, tokens: 101 })).isLazy).toBe(true)
  })

  it('asks for no token count without a context window', () => {
    const catalogue = {
      size: 2,
      undecided: 0,
      get tokens(): number {
        throw new Error('counted')
      },
    }
    const history = new ModeHistory(catalogue, () => {})
    history.update()
    expect(decideMode(settings, history).isLazy).toBe(false)
  })

  it('follows any other mode', () => {
    expect(decideMode({ ...settings, mode: 'full' }, figures({ size: 999, tokens: 0 })).isLazy).toBe(false)
    expect(decideMode({ ...settings, mode: 'lazy' }, figures({ size: 1, tokens: 0 }))).toMatchObject({
      isLazy: true,
      isAuto: false,
    })
  })
})

describe('ModeHistory', () => {
  const open = (size: number) => {
    const catalogue = { size, tokens: 0, undecided: 0 }
    const events: unknown[] = []
    const history = new ModeHistory(catalogue, (event) => events.push(event))
    const become = (next: number) => {
      catalogue.size = next
      history.update()
    }
    return { history, become, events }
  }

  it('decides by the history of the catalogue, whoever looked and when', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 20 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 30 }), (steps, toolThreshold) => {
        const { history, become } = open(0)
        // The plain rule, with a memory of its own for this one threshold.
        let wasLazy = false
        for (const size of steps) {
          become(size)
          wasLazy = size * 5 >= toolThreshold * (wasLazy ? 4 : 5)
        }
        expect(history.decision({ ...settings, toolThreshold }).isLazy).toBe(wasLazy)
      }),
    )
  })

  it('raises mode-changed once for settings that many look at', () => {
    const { history, become, events } = open(20)
    for (let looks = 0; looks < 3; looks++) history.decision(settings)
    become(5)
    become(4)
    become(20)
    expect(events).toMatchObject([
      { type: 'mode-changed', mode: 'full' },
      { type: 'mode-changed', mode: 'lazy' },
    ])
  })

  it('forgets settings that were asked for long ago', () => {
    const { history, become, events } = open(0)
    for (let toolThreshold = 1; toolThreshold <= 1_000; toolThreshold++)
      history.decision({ ...settings, toolThreshold })
    become(2_000)
    expect(events).toHaveLength(100)
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
    expect(decideMode({ ...settings, ...more }, figures(catalogue)).reason).toBe(reason)
  })

  it('is automatic only where auto mode chose lazy', () => {
    expect(decideMode(settings, figures({ size: 3, tokens: 0 }))).toMatchObject({
      isLazy: false,
      isAuto: false,
    })
    expect(decideMode({ ...settings, mode: 'full' }, figures({ size: 99, tokens: 0 })).isAuto).toBe(false)
    const sized = { ...settings, contextWindow: 1000 }
    expect(decideMode(sized, figures({ size: 2, tokens: 101 }))).toMatchObject({ isLazy: true, isAuto: true })
    expect(decideMode(sized, figures({ size: 2, tokens: 80 }, { size: 2, tokens: 101 })).isLazy).toBe(false)
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
  const auto: ModeSettings = { ...settings, defer: 'auto', toolThreshold: 10 }
  const asked = (
    count: number,
    { recentlyGone = 0, isLazy = true, more = {} as Partial<ModeSettings> } = {},
  ) => defersAll(count, { ...auto, ...more }, { isLazy, recentlyGone })

  it('once so many would stay shown, and no longer when clearly fewer would', () => {
    expect([asked(9), asked(10)]).toEqual([false, true])
    expect([asked(8, { recentlyGone: 9 }), asked(7, { recentlyGone: 9 })]).toEqual([true, false])
  })

  it('under defer auto alone, and only in lazy mode', () => {
    for (const defer of ['mcp', 'all', 'flagged'] as const) expect(asked(50, { more: { defer } })).toBe(false)
    expect(asked(50, { isLazy: false })).toBe(false)
  })
})

it('leaves on the surface what is neither deferred anyway nor never', () => {
  const left = (mode: Mode, isLazy: boolean) =>
    Object.entries(ENTRIES)
      .filter(([, entry]) => isLeftShown(entry, { mode, isLazy }))
      .map(([name]) => name)
  expect(left('lazy', true)).toEqual(['own'])
  expect(left('auto', true)).toEqual(['own'])
})
