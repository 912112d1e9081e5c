import { describe, expect, it } from 'vitest'
import { decideMode, type ModeSettings } from './mode.ts'

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
