import type { Mode } from '../../registry/mode.ts'
import type { Variables } from './read-table.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[profile.NAME]`: what one client of a gateway sees. Absent keys fall back to the rest of the config. */
export interface Profile {
  /** The servers whose tools are visible. Default: all. */
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

/** The profile name is part of a URL, `/mcp/<profile>`. */
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Reads one profile's table, with its variables expanded. Throws `config-invalid` for anything invalid. */
export function readProfile(name: string, table: unknown, place: Place, variables: Variables): Profile {
  if (!NAME.test(name))
    throw invalid(place, [], 'invalid profile name; use up to 64 letters, digits, "_", "." and "-"')
  const { values, faults } = fillTable(readTable(table, FIELDS, place), FIELDS, place, variables)
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  return values
}
