import { memorySpill, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { tool } from './helpers.ts'

const one = (name: string, args: unknown = {}) => [{ toolCallId: '1', name, args }]

describe('a spill', () => {
  it('without a handle leaves the plain marker: no answer ever names "undefined"', async () => {
    const reducers = {
      get: (name: string) =>
        name === 'brief'
          ? { toolName: name, reduce: () => ({ ok: true as const, value: 'short' }) }
          : undefined,
    }
    const kept = memorySpill()
    for (const put of [() => undefined as never, () => 7 as never, () => Promise.reject(new Error('full'))]) {
      const registry = new ToolRegistry({ spill: { ...kept, put }, resultBudgetChars: 400, reducers })
      const value = 'x'.repeat(5_000)
      registry.register(tool('long', { execute: () => ({ ok: true, value }) }))
      registry.register(
        tool('reduced', {
          execute: () => ({ ok: true, value }),
          reduce: () => ({ ok: true as const, value: 'short' }),
        }),
      )
      const session = await registry.openSession()
      const results = await session.execute([...one('long'), ...one('reduced')])
      const texts = results.map(({ result }) => (result.ok ? result.value : result.error))
      expect(texts[0]).toMatch(/\n\[truncated — 5000 chars total\]$/)
      expect(texts[1]).toBe('short')
      expect(texts.join()).not.toContain('undefined')
    }
  })
})

describe('a tool’s own maxResultChars', () => {
  it('cuts its results, however much of the budget is left', async () => {
    const registry = new ToolRegistry()
    registry.register(
      tool('wordy', { maxResultChars: 100, execute: () => ({ ok: true, value: 'x'.repeat(5_000) }) }),
    )
    registry.register(tool('plain', { execute: () => ({ ok: true, value: 'y'.repeat(5_000) }) }))
    const session = await registry.openSession()
    const results = await session.execute([...one('wordy'), ...one('plain')])
    const [wordy, plain] = results.map(({ result }) => (result.ok ? result.value : ''))
    expect(wordy).toHaveLength(100)
    expect(wordy).toMatch(/\[truncated — 5000 chars total\]$/)
    expect(plain).toHaveLength(5_000)
  })
})
