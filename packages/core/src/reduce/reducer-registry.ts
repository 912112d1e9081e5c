import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Reducer, ReducerLookup } from './reducer.ts'

/** Maps tools to reducers, by exact name. */
export class ReducerRegistry implements ReducerLookup {
  // Wrapped, so that registering the same reducer twice makes two entries, and each undo removes only its own.
  readonly #entries = new Map<string, { readonly reducer: Reducer }>()

  /**
   * Adds a reducer and returns a function that removes it; calling that twice, or after the reducer was replaced,
   * does nothing. Throws `tool-duplicate` for a second reducer of the same name, `config-invalid` for anything but a
   * reducer.
   */
  register(reducer: Reducer): () => void {
    if (typeof reducer === 'string')
      throw new ToolcribError(
        'config-invalid',
        'register() takes one reducer: { toolName: "read_file", reduce: (result, context) => … }',
      )
    checkReducer(reducer)
    const { toolName } = reducer
    if (this.#entries.has(toolName)) {
      throw new ToolcribError(
        'tool-duplicate',
        `"${toolName}" already has a reducer; remove it first with the function that its registration returned`,
      )
    }
    const entry = { reducer }
    this.#entries.set(toolName, entry)
    return () => {
      if (this.#entries.get(toolName) === entry) this.#entries.delete(toolName)
    }
  }

  /** The names of the tools that have a reducer here. */
  get toolNames(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** The reducer for a tool with exactly this name. */
  get(toolName: string): Reducer | undefined {
    return this.#entries.get(toolName)?.reducer
  }
}

function checkReducer(reducer: unknown): void {
  if (typeof reducer === 'function') {
    throw new ToolcribError(
      'config-invalid',
      'expected a reducer, but got a factory; call it first: readFileReducer(), kanbanList()',
    )
  }
  const { toolName, reduce } = isRecord(reducer) ? reducer : {}
  if (typeof toolName === 'string' && toolName !== '' && typeof reduce === 'function') return
  throw new ToolcribError('config-invalid', 'a reducer needs a toolName and a reduce(result, context)')
}
