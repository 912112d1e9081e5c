import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'
import { fakeTiming, open, tool } from './agent.fixture.ts'
import { runAgent } from './run-agent.ts'
import { scriptedModel } from './scripted-model.ts'

describe('the ledger', () => {
  it('counts tokens by kind, money where prices are known, and what full mode would have taken', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp(
      'mail',
      Array.from({ length: 40 }, (_, index) => tool(`tool_${index}`)),
    )
    registry.register(tool('paid', { execute: () => ({ ok: true, value: 'done', costUsd: 0.25 }) }))
    const session = await registry.openSession()
    const model = scriptedModel([
      { calls: [{ name: 'paid' }], inputTokens: 1000, outputTokens: 10 },
      { text: 'bye', inputTokens: 100, cachedInputTokens: 900, outputTokens: 20 },
    ])
    const { ledger } = await runAgent({
      model,
      session,
      messages: 'go',
      prices: { input: 10, cachedInput: 1, output: 100 },
    })
    expect(ledger).toMatchObject({
      requests: 2,
      inputTokens: 1100,
      cachedInputTokens: 900,
      outputTokens: 30,
      toolCostUsd: 0.25,
    })
    expect(ledger.costUsd).toBeCloseTo((1100 * 10 + 900 + 30 * 100) / 1e6)
    const hidden = (ledger.fullMode.inputTokens - 2000) / 2
    expect(hidden).toBeGreaterThan(500)
    expect(ledger.fullMode.costUsd).toBeCloseTo((ledger.costUsd ?? 0) + (hidden * 11) / 1e6)
  })

  it('takes the prices of long requests for those above their limit, cached input included', async () => {
    const { session } = await open([tool('echo')])
    const longContext = { aboveTokens: 1000, input: 20, cachedInput: 2, output: 150 }
    const prices = { input: 10, cachedInput: 1, output: 100, longContext }
    const model = scriptedModel([
      { calls: [{ name: 'echo' }], inputTokens: 100, cachedInputTokens: 900, outputTokens: 10 },
      { text: 'bye', inputTokens: 101, cachedInputTokens: 900, outputTokens: 10 },
    ])
    const { ledger } = await runAgent({ model, session, messages: 'go', prices })
    expect(ledger.costUsd).toBeCloseTo((1000 + 900 + 1000 + 2020 + 1800 + 1500) / 1e6)
    const misspelt = { ...prices, longContext: { above: 1000, input: 20, cachedInput: 2, output: 150 } }
    await expect(runAgent({ model, session, messages: 'go', prices: misspelt as never })).rejects.toThrow(
      'prices',
    )
  })

  it('says nothing of money without prices, and the same for full mode where nothing is deferred', async () => {
    const { session } = await open([tool('echo')], { mode: 'full' })
    const model = scriptedModel([{ text: 'bye', inputTokens: 50 }])
    const { ledger } = await runAgent({ model, session, messages: 'go' })
    expect(ledger).not.toHaveProperty('costUsd')
    expect(ledger.fullMode).toEqual({ inputTokens: 50 })
  })

  it('counts answers that were thrown away', async () => {
    const { session } = await open([])
    const model = scriptedModel([
      { text: 'half', stop: 'cut', inputTokens: 70 },
      { text: 'whole', inputTokens: 70 },
    ])
    const { ledger } = await runAgent({ model, session, messages: 'go', timing: fakeTiming() })
    expect(ledger).toMatchObject({ requests: 2, inputTokens: 140 })
  })
})
