import { canonicalJson, hashText } from '../json.ts'
import { isSearchTool } from '../names.ts'
import type { CallResult, ToolCall } from '../tool.ts'

/** When a model that repeats itself is warned, and when it loses its tools for a turn. */
export interface LoopGuardOptions {
  /** After how many equal calls with equal results the model is warned; 3. 0 = no guard. */
  readonly nudgeAfter?: number
  /** After how many the next turn may call no tools; 5. */
  readonly withholdAfter?: number
  /** How many turns it looks back; 12. */
  readonly window?: number
}

/** What the guard found after a turn. */
export interface LoopFinding {
  readonly answer: 'nudge' | 'withhold'
  readonly name: string
  readonly times: number
}

/**
 * Detects a model that is stuck in a loop: the same call with the same result, or the same error of the same tool,
 * repeatedly, also with other calls in between. Polling until a result changes does not count, and neither does
 * searching.
 */
export class LoopGuard {
  readonly #nudgeAfter: number
  readonly #withholdAfter: number
  readonly #window: number
  #turns: (readonly string[])[] = []
  #nudged = new Set<string>()

  constructor({ nudgeAfter = 3, withholdAfter = 5, window = 12 }: LoopGuardOptions = {}) {
    this.#nudgeAfter = nudgeAfter
    this.#withholdAfter = Math.max(withholdAfter, nudgeAfter)
    this.#window = window
  }

  /** Records one turn's calls, under the names of the tools they reach, and their results. */
  note(calls: readonly ToolCall[], results: readonly CallResult[]): LoopFinding | undefined {
    if (this.#nudgeAfter === 0) return undefined
    const answers = new Map(results.map((result) => [result.toolCallId, result]))
    const steps = calls
      // Searching again does not mean that the model is stuck.
      .filter(({ name }) => !isSearchTool(name) && name !== 'wait_for_servers')
      .map((call) => ({ name: call.name, key: keyOf(call, answers.get(call.toolCallId)) }))
    // A turn counts a call once: equal calls in one turn are parallel work, not a loop.
    this.#turns = [...this.#turns, [...new Set(steps.map(({ key }) => key))]].slice(-this.#window)
    const worst = steps
      .map((step) => ({ ...step, times: this.#timesOf(step.key) }))
      .sort((first, second) => second.times - first.times)[0]
    if (!worst || worst.times < this.#nudgeAfter) return undefined
    const { name, key, times } = worst
    if (times >= this.#withholdAfter) {
      this.#turns = []
      this.#nudged.clear()
      return { answer: 'withhold', name, times }
    }
    if (this.#nudged.has(key)) return undefined
    this.#nudged.add(key)
    return { answer: 'nudge', name, times }
  }

  #timesOf(key: string): number {
    return this.#turns.filter((turn) => turn.includes(key)).length
  }
}

/** The message to the model. */
export function loopMessage({ answer, name, times }: LoopFinding): string {
  const fact = `${name} has now given the same answer ${times} times`
  return answer === 'nudge'
    ? `Note: ${fact}. Calling it again will not change that. Try something else, or say what is blocking you.`
    : `Note: ${fact}, so you cannot call tools in this turn. Answer with what you know, and say what is missing.`
}

function keyOf({ name, args }: ToolCall, answer: CallResult | undefined): string {
  const result = answer?.result
  if (!result) return hashText(`${name}\n${canonicalJson(args)}`)
  // The same error counts with any arguments: trying variants of a call that cannot work is a loop too.
  if (!result.ok) return hashText(`${name}\n${result.code}\n${result.error}`)
  return hashText(`${name}\n${canonicalJson(args)}\n${result.value}`)
}
