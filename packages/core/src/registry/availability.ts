import { describeError } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Tool, ToolDefinition } from '../tool.ts'
import { denialOf } from './permitted-listings.ts'
import type { CompiledPolicy } from './policy.ts'
import type { Snapshot } from './snapshot.ts'

/** Returns the definitions of every permitted and available tool, by name. */
export function definitionsOf(
  snapshot: Snapshot,
  policy: CompiledPolicy,
  availability: Availability,
): ToolDefinition[] {
  const permitted = snapshot.sorted.filter((entry) => denialOf(entry, snapshot, policy) === undefined)
  return permitted.filter(({ tool }) => availability.isAvailable(tool)).map(({ definition }) => definition)
}

/** Asks tools whether they are available now. Only `true` passes: a guard that returns anything else is broken. */
export class Availability {
  readonly #emit: Emit

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** True for a tool without `isAvailable()`. One that throws, or returns anything but a boolean, raises `tool-hidden`. */
  isAvailable(tool: Tool): boolean {
    if (tool.isAvailable === undefined) return true
    try {
      const answer: unknown = tool.isAvailable()
      if (typeof answer === 'boolean') return answer
      // A promise that rejects later must not end the process.
      if (answer instanceof Promise) answer.catch(() => {})
      const kind = answer instanceof Promise ? 'a promise' : answer === null ? 'null' : typeof answer
      this.#hide(tool, `isAvailable() returned ${kind}; it must return true or false`)
    } catch (error) {
      this.#hide(tool, describeError(error))
    }
    return false
  }

  #hide({ name }: Tool, error: string): void {
    this.#emit({ type: 'tool-hidden', name, error })
  }
}
