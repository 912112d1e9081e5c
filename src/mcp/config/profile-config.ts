import type { Mode } from '../../registry/mode.ts'
import type { Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[profile.NAME]`: what one client of a gateway sees. An absent key leaves that to the rest of the config. */
export interface Profile {
  /** The servers whose tools it sees, by name; all, when absent. */
  readonly servers?: readonly string[]
  /** Names and globs of tools, as in `[tools]`. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly pinned?: readonly string[]
  readonly mode?: Mode
}

const FIELDS = {
  servers: 'texts',
  allow: 'texts',
  deny: 'texts',
  pinned: 'texts',
  mode: { oneOf: ['full', 'lazy', 'auto'] },
} as const satisfies Fields

/** A profile's name is part of an address, `/mcp/<profile>`. */
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Reads one profile's table, with its variables filled in. Throws `config-invalid` for anything it cannot use. */
export function readProfile(name: string, table: unknown, place: Place, variables: Variables): Profile {
  if (!NAME.test(name))
    throw invalid(
      place,
      [],
      'the name of a profile is made of letters, digits, "_", "." and "-", 64 at most; rename it',
    )
  const { values, faults } = fillTable(readTable(table, FIELDS, place), FIELDS, place, variables)
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  return values
}
