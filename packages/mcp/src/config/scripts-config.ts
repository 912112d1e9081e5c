import type { Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[scripts]`: programs over tools, which a model writes. */
export interface ScriptsConfig {
  /** `true`: `serve` and `chat` have `run_script`. Default: `false`. */
  readonly enabled?: boolean
  /**
   * At least 32 secret characters that encrypt paused scripts; write it as a variable. Replicas on several machines need
   * the same. Default: a key that is made once, in the state folder.
   */
  readonly key?: string
  /** Scripts that are tools: their names, and the hashes of their files, as `toolcrib script save` writes them. */
  readonly saved?: Readonly<Record<string, string>>
}

const SCRIPT_FIELDS = { enabled: 'flag', key: 'text', saved: 'map' } as const satisfies Fields

const MIN_KEY_CHARACTERS = 32

/** Reads the table `[scripts]`, with its variables expanded. Throws `config-invalid` for unknown keys and a short key. */
export function readScripts(table: unknown, place: Place, variables: Variables): ScriptsConfig {
  const { values, faults } = fillTable(
    readTable(table, SCRIPT_FIELDS, place),
    SCRIPT_FIELDS,
    place,
    variables,
  )
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  const { key }: ScriptsConfig = values
  if (key !== undefined && key.length < MIN_KEY_CHARACTERS)
    throw invalid(place, ['key'], `must have at least ${MIN_KEY_CHARACTERS} characters`)
  return values
}
