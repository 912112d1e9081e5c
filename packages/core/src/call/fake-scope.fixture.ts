import { type EventBody, EventStream } from '../events.ts'
import { Availability } from '../registry/availability.ts'
import { Entry } from '../registry/entry.ts'
import type { CallResult, Tool, ToolCall } from '../tool.ts'
import { CallRunner } from './call-runner.ts'
import type { CallContext, CallScope, CallSettings } from './call-scope.ts'
import { CallState, type CallStateOptions } from './call-state.ts'

/** A tool for tests: takes anything and returns its arguments, unless it is given more. */
export function fakeTool(overrides: Partial<Tool> = {}): Tool {
  return {
    name: 'echo',
    description: 'Returns its arguments.',
    inputSchema: true,
    execute: (input) => ({ ok: true, value: JSON.stringify(input) }),
    ...overrides,
  }
}

const entries = new WeakMap<Tool, Entry>()

/** The entry of a tool; the same one each time, as in a registry. */
export function entryOf(tool: Tool, options: { isSelfLimiting?: boolean } = {}): Entry {
  const { name } = tool
  const known = entries.get(tool)
  if (known) return known
  const source = { kind: 'builtin' } as const
  const entry = new Entry(tool, { name, ownName: name, source, deferral: 'unset', trust: 3, ...options })
  entries.set(tool, entry)
  return entry
}

/** What a test replaces, of the scope and of the settings alike. */
export type FakeOverrides = Partial<CallScope & Omit<CallSettings, 'availability'>> & {
  readonly isAvailable?: (tool: Tool) => boolean
}

export interface FakeScope extends CallScope {
  readonly events: EventBody[]
  readonly settings: CallSettings
}

/** A scope for tests in which the given tools exist and everything is permitted, unless it is given more. */
export function fakeScope(tools: readonly Tool[], overrides: FakeOverrides = {}): FakeScope {
  const events: EventBody[] = []
  const { isAvailable, ...rest } = overrides
  // As a registry has it: a listener that throws is ignored there.
  const stream = new EventStream({ now: () => 0 })
  stream.subscribe(overrides.emit ?? (({ at: _, ...event }) => void events.push(event)))
  const availability = new Availability(stream.emit)
  if (isAvailable) availability.isAvailable = isAvailable
  return {
    searchToolName: undefined,
    canReadResults: true,
    resolve: ({ name, args }) => {
      const tool = tools.find((candidate) => candidate.name === name)
      return tool && { entry: entryOf(tool), args }
    },
    asks: () => false,
    suggest: () => [],
    missingServers: () => [],
    denial: () => undefined,
    needsSchema: () => false,
    isUnseen: () => false,
    noteSchemas: () => {},
    noteUses: () => {},
    isGone: () => false,
    untrustedServers: () => [],
    ...rest,
    events,
    settings: {
      backends: {},
      timeoutMs: 0,
      resultBudgetChars: 80_000,
      maxIdenticalCalls: 25,
      ...rest,
      availability,
      emit: stream.emit,
    },
  }
}

/** Runs calls of any scope, and remembers across them what a registry's runner does. */
export interface FakeRunner {
  execute(calls: readonly ToolCall[], context: Partial<CallContext>, scope: FakeScope): Promise<CallResult[]>
}

export function fakeRunner(options: CallStateOptions = { now: () => 0 }): FakeRunner {
  const state = new CallState(options)
  return {
    execute: (calls, context, scope) => new CallRunner(scope.settings, state).execute(calls, context, scope),
  }
}

/** A runner whose time and timers stand still until `advance()`. */
export function fakeTime(): {
  readonly runner: FakeRunner
  advance(ms: number): void
  pendingTimers(): number
} {
  let now = 0
  const timers = new Set<{ at: number; fire: () => void }>()
  const runner = fakeRunner({
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

/** Runs one call with a runner of its own and returns its result. */
export async function runOne(
  tool: Tool,
  args: unknown,
  options: {
    context?: Partial<CallContext>
    scope?: FakeOverrides
    runner?: FakeRunner
  } = {},
): Promise<CallResult['result']> {
  const runner = options.runner ?? fakeRunner()
  const scope = fakeScope([tool], options.scope)
  const [answer] = await runner.execute(
    [callOf(tool.name, args)],
    { sessionId: 's', ...options.context },
    scope,
  )
  if (answer === undefined) throw new Error('no answer')
  return answer.result
}
