import type { EventBody } from '../events.ts'
import type { CallResult, Tool, ToolCall } from '../tool.ts'
import type { CallContext, CallEnvironment, CallSettings } from './call-environment.ts'
import { CallRunner } from './call-runner.ts'

/** A tool for tests: takes anything and answers what it was asked, unless told otherwise. */
export function fakeTool(overrides: Partial<Tool> = {}): Tool {
  return {
    name: 'echo',
    description: 'Answers its arguments.',
    inputSchema: true,
    execute: (input) => ({ ok: true, value: JSON.stringify(input) }),
    ...overrides,
  }
}

/** What a test has otherwise, of the environment and of its settings alike. */
export type FakeOverrides = Partial<Omit<CallEnvironment, 'settings'> & CallSettings>

/** An environment for tests in which the given tools exist and everything is permitted, unless told otherwise. */
export function fakeEnvironment(
  tools: readonly Tool[],
  overrides: FakeOverrides = {},
): CallEnvironment & { readonly events: EventBody[] } {
  const events: EventBody[] = []
  const settings: CallSettings = {
    isAvailable: () => true,
    backends: {},
    timeoutMs: 0,
    resultBudgetChars: 80_000,
    maxIdenticalCalls: 25,
    emit: (event) => events.push(event),
    ...overrides,
  }
  return {
    resolve: ({ name, args }) => {
      const tool = tools.find((candidate) => candidate.name === name)
      return tool && { tool, source: { kind: 'builtin' }, args }
    },
    suggest: () => [],
    denial: () => undefined,
    events,
    ...overrides,
    settings,
  }
}

/** A runner whose time and timers stand still until told. */
export function fakeTime(): {
  readonly runner: CallRunner
  advance(ms: number): void
  pendingTimers(): number
} {
  let now = 0
  const timers = new Set<{ at: number; fire: () => void }>()
  const runner = new CallRunner({
    now: () => now,
    schedule(delayMs, fire) {
      const timer = { at: now + delayMs, fire }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })
  return {
    runner,
    pendingTimers: () => timers.size,
    advance(ms) {
      now += ms
      for (const timer of [...timers]) {
        if (timer.at > now) continue
        timers.delete(timer)
        timer.fire()
      }
    },
  }
}

export function callOf(name: string, args: unknown = {}, toolCallId = 'call-1'): ToolCall {
  return { toolCallId, name, args }
}

/** Runs one call with a runner of its own and answers its result. */
export async function runOne(
  tool: Tool,
  args: unknown,
  options: {
    context?: Partial<CallContext>
    environment?: FakeOverrides
    runner?: CallRunner
  } = {},
): Promise<CallResult['result']> {
  const runner = options.runner ?? new CallRunner({ now: () => 0 })
  const environment = fakeEnvironment([tool], options.environment)
  const [answer] = await runner.execute(
    [callOf(tool.name, args)],
    { sessionId: 's', ...options.context },
    environment,
  )
  if (answer === undefined) throw new Error('no answer')
  return answer.result
}
