import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Reducer, ReducerLookup } from './reducer.ts'

/** Which reducer belongs to which tool, by exact name. */
export class ReducerRegistry implements ReducerLookup {
  // Wrapped, so that the same reducer registered twice is two entries and an old undo knows its own.
  readonly #entries = new Map<string, { readonly reducer: Reducer }>()

  /**
   * Adds a reducer and returns how to take it back; taking it back twice, or after another took its place, does
   * nothing. A second reducer for a name is refused with `tool-duplicate`, anything but a reducer with `config-invalid`.
   */
  register(reducer: Reducer): () => void {
    checkReducer(reducer)
    const { toolName } = reducer
    if (this.#entries.has(toolName)) {
      throw new ToolcribError(
        'tool-duplicate',
        `"${toolName}" already has a reducer; take that one back first, with the function its register() returned`,
      )
    }
    const entry = { reducer }
    this.#entries.set(toolName, entry)
    return () => {
      if (this.#entries.get(toolName) === entry) this.#entries.delete(toolName)
    }
  }

  /** The reducer for a tool of exactly this name. */
  get(toolName: string): Reducer | undefined {
    return this.#entries.get(toolName)?.reducer
  }
}

function checkReducer(reducer: unknown): void {
  if (typeof reducer === 'function') {
    throw new ToolcribError(
      'config-invalid',
      'that is a factory; register what it returns: readFile(), kanbanList()',
    )
  }
  const { toolName, reduce } = isRecord(reducer) ? reducer : {}
  if (typeof toolName === 'string' && toolName !== '' && typeof reduce === 'function') return
  throw new ToolcribError('config-invalid', 'a reducer needs a toolName and a reduce(result, context)')
}
