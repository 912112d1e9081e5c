import { isRecord } from '@toolcrib/core/internal'
import { type Fields, type Place, readTable } from './read-table.ts'
import { SEARCHER_KIND, type ToolsTable } from './tools-config.ts'

/** The keys of a config. `readConfig()` itself produces the last ones, so they are accepted too. */
const ROOT_FIELDS = {
  /** How tools are shown and searched, see below. */
  tools: 'table',
  /** The servers, by name. */
  server: 'table',
  /** The same as `server`. */
  servers: 'table',
  /** The same, as MCP clients and editors write it. */
  mcpServers: 'table',
  /** What single clients of the gateway see, by name. */
  profile: 'table',
  /** Who may use the gateway and how much, see below. */
  gateway: 'table',
  /** Programs over tools, see below. */
  scripts: 'table',
  /** Instructions in folders, see below. */
  skills: 'table',
  /** APIs whose operations are tools, by name. */
  openapi: 'table',
  /** `true`: servers start only when a lockfile approves them. No other file can unset it. */
  requireLock: 'flag',
} as const satisfies Fields
const ALSO_READ = { profiles: 'table', searcher: SEARCHER_KIND } as const satisfies Fields

/** The top-level settings and the tables of profiles. */
interface Root {
  readonly settings: ToolsTable
  readonly profiles: Readonly<Record<string, unknown>>
  readonly apis: Readonly<Record<string, unknown>>
}

/**
 * Reads the top-level keys other than servers and tools. In our own files every unknown key is an error; in files
 * shared with other programs, only a key that resembles a known one is.
 */
export function readRoot(data: Record<string, unknown>, place: Place): Root {
  const isReadHere = (key: string) => /^(require_?lock|searcher|profiles?|openapi)$/i.test(key)
  const given = Object.entries(data).map(([key, value]) => [key, isReadHere(key) ? value : {}])
  const { requireLock, searcher, profile, profiles, openapi } = readTable(
    Object.fromEntries(given),
    ROOT_FIELDS,
    {
      ...place,
      alsoRead: ALSO_READ,
      ...(place.style === 'snake' ? {} : { foreignKeys: [] }),
    },
  )
  return {
    settings: {
      ...(requireLock === undefined ? {} : { requireLock }),
      ...(searcher === undefined ? {} : { searcher }),
    },
    apis: isRecord(openapi) ? openapi : {},
    profiles: { ...(isRecord(profiles) ? profiles : {}), ...(isRecord(profile) ? profile : {}) },
  }
}
