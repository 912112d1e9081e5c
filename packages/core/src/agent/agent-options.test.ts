import { describe, expect, it } from 'vitest'
import { open } from './agent.fixture.ts'
import { type AgentToolOptions, agentTool } from './agent-tool.ts'
import { Ledger } from './ledger.ts'
import { runAgent } from './run-agent.ts'
import { scriptedModel } from './scripted-model.ts'

const worker = { name: 'worker', description: 'Works.', prompt: 'Work.' }

/** What every run needs, and these options. */
async function run(options: object) {
  const { session } = await open([])
  return runAgent({ model: scriptedModel([]), session, messages: 'go', ...options })
}

async function tool(options: object) {
  const { session } = await open([])
  const whole: AgentToolOptions = { agents: [worker], model: scriptedModel([]), session, ...options }
  return agentTool(whole)
}

describe('options of runAgent', () => {
  it.each([
    [{ maxIterations: Number.NaN }, 'maxIterations is NaN'],
    [{ maxIterations: 0 }, 'maxIterations is 0'],
    [{ maxIterations: 1.5 }, 'maxIterations is 1.5'],
    [{ maxIteration: 3 }, 'no option "maxIteration"; did you mean "maxIterations"?'],
    [{ hooks: { beforeToolCall: () => {} } }, 'did you mean "before_tool_call"?'],
    [{ hooks: [{ after_model_calls: () => {} }] }, 'did you mean "after_model_call"?'],
    [{ retry: { retries: 3 } }, 'no option "retry.retries"'],
    [{ retry: { maxRetries: -1 } }, 'retry.maxRetries is -1'],
    [{ retry: { baseDelayMs: Number.NaN } }, 'retry.baseDelayMs is NaN'],
    [{ loopGuard: { nudgeafter: 3 } }, 'did you mean "loopGuard.nudgeAfter"?'],
    [{ loopGuard: { window: 0 } }, 'loopGuard.window is 0'],
    [{ maxCostUsd: -1 }, 'maxCostUsd is -1'],
    [{ maxCostUSD: 1 }, 'did you mean "maxCostUsd"?'],
    [{ maxTokens: Number.NaN }, 'maxTokens is NaN'],
    [{ prices: { input: 1, cachedInput: 1 } }, 'prices is an object; it must be'],
    [{ prices: { input: 1, cachedInput: 1, output: 1, cache: 1 } }, 'prices is an object; it must be'],
    [{ prices: { input: Number.NaN, cachedInput: 1, output: 1 } }, 'prices is an object; it must be'],
    [{ messages: undefined }, 'needs the option "messages"'],
    [{ session: {} }, 'session is an object; it must be'],
    [{ signal: {} }, 'signal is an object; it must be an AbortSignal'],
  ])('refuses %j', async (options, message) => {
    await expect(run(options)).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining(message),
    })
  })

  it('take every known one', async () => {
    const result = await run({
      maxIterations: Number.POSITIVE_INFINITY,
      maxTokens: 1000,
      maxCostUsd: 1,
      prices: { input: 1, cachedInput: 1, cacheWrite: 1, output: 1 },
      hooks: [],
      retry: { maxRetries: 0, baseDelayMs: 1, maxDelayMs: 1 },
      loopGuard: { nudgeAfter: 0, withholdAfter: 5, window: 3 },
      ledger: new Ledger(),
      system: undefined,
    })
    expect(result.stop).toBe('done')
  })
})

describe('options of agentTool', () => {
  it.each([
    [{ maxDept: 3 }, 'did you mean "maxDepth"?'],
    [{ maxDepth: Number.NaN }, 'maxDepth is NaN'],
    [{ maxIterations: Number.NaN }, 'maxIterations is NaN'],
    [{ timeoutMs: -1 }, 'timeoutMs is -1'],
    [{ maxConcurrent: 0 }, 'maxConcurrent is 0'],
    [{ hooks: { beforeToolCall: () => {} } }, 'did you mean "before_tool_call"?'],
    [{ loopGuard: { nudgeAfter: 'x' } }, 'loopGuard.nudgeAfter is "x"'],
    [{ agents: [{ ...worker, inheritActiveMCP: false }] }, 'did you mean "inheritActiveMcp"?'],
    [{ agents: [{ ...worker, tools: 'read_file' }] }, 'tools is "read_file"; it must be an array of strings'],
  ])('refuses %j', async (options, message) => {
    await expect(tool(options)).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining(message),
    })
  })
})

it('a ledger refuses unknown limits', () => {
  const misspelt = { maxCost: 3 }
  expect(() => new Ledger(misspelt as object)).toThrow(/no option "maxCost"/)
})
