import type { Mode } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { nearestName } from '@toolcrib/core/internal'
import type { Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, type Place, readTable } from './read-table.ts'

/** `[profile.NAME]`: what one client of a gateway sees. Absent keys fall back to the rest of the config. */
export interface Profile {
  /** The servers and APIs whose tools are visible. Default: all. */
  readonly servers?: readonly string[]
  /** Names and globs of tools, as in `[tools]`. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  /** Tools about which a person is asked before each call, besides those of `[tools]`. */
  readonly ask?: readonly string[]
  readonly pinned?: readonly string[]
  readonly mode?: Mode
  /** The most tokens of a result. Default: that of `[gateway]`; a server's own takes precedence. 0 = whole. */
  readonly maxResultTokens?: number
  /** For older clients. list: tools that a search found appear in their list; doors (default): the list stays the same. */
  readonly activate?: 'doors' | 'list'
}

const PROFILE_FIELDS = {
  servers: 'texts',
  allow: 'texts',
  /** Names and globs of tools that are not visible; takes precedence over `allow`. */
  deny: 'texts',
  /** Tools about which a person is asked before each call, besides those of `[tools]`. */
  ask: 'texts',
  /** Names and globs of tools that are always shown. */
  pinned: 'texts',
  /** How many tools its clients see listed. Default: `registry_mode`. */
  mode: { oneOf: ['full', 'lazy', 'auto'] },
  maxResultTokens: 'count',
  activate: { oneOf: ['doors', 'list'] },
} as const satisfies Fields

/** The profile name is part of a URL, `/mcp/<profile>`. */
const PROFILE_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Reads one profile's table, with its variables expanded. Throws `config-invalid` for anything invalid. */
export function readProfile(name: string, table: unknown, place: Place, variables: Variables): Profile {
  if (!PROFILE_NAME.test(name))
    throw invalid(place, [], 'invalid profile name; use up to 64 letters, digits, "_", "." and "-"')
  const { values, faults } = fillTable(
    readTable(table, PROFILE_FIELDS, place),
    PROFILE_FIELDS,
    place,
    variables,
  )
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  return values
}

/** Throws `config-invalid` for a profile that names a server that is not configured. Globs may match nothing. */
export function checkProfiles(
  profiles: Readonly<Record<string, Profile>>,
  configured: readonly string[],
): void {
  for (const [profile, { servers = [] }] of Object.entries(profiles)) {
    const unknown = servers.find((server) => !server.includes('*') && !configured.includes(server))
    if (unknown === undefined) continue
    const nearest = nearestName(unknown, configured)
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    throw new ToolcribError(
      'config-invalid',
      `profile "${profile}" names the server "${unknown}", which does not exist; the config has ${configured.join(', ') || 'none'}${hint}`,
    )
  }
}
