import { ToolcribError } from '../errors.ts'
import type { Reducer, ReducerLookup } from './reducer.ts'

/** Which reducer belongs to which tool, by exact name. */
export class ReducerRegistry implements ReducerLookup {
  readonly #reducers = new Map<string, Reducer>()

  /**
   * Adds a reducer and returns how to take it back; taking it back twice, or after another took its place, does
   * nothing. A second reducer for a name is refused with `tool-duplicate`.
   */
  register(reducer: Reducer): () => void {
    const { toolName } = reducer
    if (this.#reducers.has(toolName)) {
      throw new ToolcribError(
        'tool-duplicate',
        `"${toolName}" already has a reducer; take that one back first, with the function its register() returned`,
      )
    }
    this.#reducers.set(toolName, reducer)
    return () => {
      if (this.#reducers.get(toolName) === reducer) this.#reducers.delete(toolName)
    }
  }

  get(toolName: string): Reducer | undefined {
    return this.#reducers.get(toolName)
  }
}
