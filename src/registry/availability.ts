import { describeError } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Tool } from '../tool.ts'

/** Asks tools whether they are available now. Only `true` passes: a guard that answers anything else is broken. */
export class Availability {
  readonly #emit: Emit

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** True for a tool without `isAvailable()`. One that throws, or returns no boolean, hides its tool with an event. */
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
