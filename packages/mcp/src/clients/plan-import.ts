import { ToolcribError } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import { readConfig } from '../config/load-config.ts'
import { ENTRY_NAME } from './client-entries.ts'
import type { ClientFile } from './client-files.ts'
import type { ImportedServer } from './read-servers.ts'
import type { TextFormat } from './text-format.ts'

/** What happens to one server that was found. */
export interface PlannedServer {
  readonly name: string
  /** `added` under the name `as`; `present`: already there, or in the user's config, under that name; the others are skipped. */
  readonly outcome: 'added' | 'present' | 'disabled' | 'invalid'
  readonly as?: string
  readonly reason?: string
  /** The program's own keys that are not imported. */
  readonly leftBehind?: readonly string[]
}

/** One config file of a program, and the outcome for each of its servers. */
export interface PlannedFile {
  readonly client: string
  readonly title: string
  readonly path: string
  readonly problem?: string
  readonly servers: readonly PlannedServer[]
}

export interface ImportPlan {
  readonly files: readonly PlannedFile[]
  /** The servers to write, by name. */
  readonly added: ReadonlyMap<string, ImportedServer>
}

/** A client's config file that exists. */
export interface ExistingFile {
  readonly file: ClientFile
  readonly format: TextFormat
  readonly text: string
}

/**
 * Decides what to import from the existing files. A server that the config already has under any name, or that is among
 * the user's own, is skipped, and so is the gateway; if another server has its name, the program's name is appended.
 * Existing content is not changed.
 */
export function planImport(
  files: readonly ExistingFile[],
  present: ReadonlyMap<string, ImportedServer>,
  users: ReadonlyMap<string, ImportedServer> = new Map(),
): ImportPlan {
  const known = new Map([...users, ...present])
  const added = new Map<string, ImportedServer>()
  const planned = files.map(({ file, format, text }): PlannedFile => {
    const { client, title, path } = file
    const place = { client, title, path }
    let servers: ReadonlyMap<string, ImportedServer>
    try {
      servers = file.read(format.parse(text))
    } catch (error) {
      return {
        ...place,
        problem: `${describeError(error)}; correct the file, or name the programs to import from`,
        servers: [],
      }
    }
    const others = [...servers].filter(([name, server]) => !isGateway(name, server))
    const outcomes = others.map(([name, { disabled, leftBehind, ...server }]): PlannedServer => {
      if (disabled) return { name, outcome: 'disabled' }
      const reason = faultOf(name, server)
      if (reason !== undefined) return { name, outcome: 'invalid', reason }
      const twin = [...known].find(([, other]) => sameServer(other, server))
      if (twin) return { name, outcome: 'present', as: twin[0] }
      const as = freeName(name, client, known)
      known.set(as, server)
      added.set(as, server)
      return { name, outcome: 'added', as, ...(leftBehind ? { leftBehind } : {}) }
    })
    return { ...place, servers: outcomes }
  })
  return { files: planned, added }
}

function faultOf(name: string, server: ImportedServer): string | undefined {
  try {
    readConfig({ servers: { [name]: server } }, { env: {} })
    return undefined
  } catch (error) {
    if (error instanceof ToolcribError) return error.message
    throw error
  }
}

/** Whether an entry is the gateway itself, as `connect` writes it. */
export function isGateway(name: string, { args, url }: ImportedServer): boolean {
  if (name !== ENTRY_NAME) return false
  const isStarted = Array.isArray(args) && args.includes('serve') && args.includes('--stdio')
  return isStarted || (typeof url === 'string' && /\/mcp(?:\/[\w.-]+)?$/.test(url))
}

/**
 * Whether an entry of a toolcrib config and one of a client start the same program in the same way, or reach the same
 * URL. The first may pass on additional variables.
 */
export function sameServer(own: ImportedServer, other: ImportedServer): boolean {
  const identity = ({ command, args, env, cwd, url, headers }: ImportedServer) =>
    JSON.stringify([command, args ?? [], sortedEntries(env), cwd, url, sortedEntries(headers)])
  const isAdded = ([name, value]: [string, unknown]) =>
    value === `\${${name}}` && !Object.hasOwn(Object(other.env), name)
  const env = Object.entries(own.env ?? {}).filter((entry) => !isAdded(entry))
  return identity({ ...own, env: Object.fromEntries(env) }) === identity(other)
}

function sortedEntries(table: unknown): unknown[] {
  return Object.entries(table ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
}

function freeName(name: string, client: string, known: ReadonlyMap<string, unknown>): string {
  if (!known.has(name)) return name
  let candidate = `${name}-${client}`
  for (let count = 2; known.has(candidate); count++) candidate = `${name}-${client}-${count}`
  return candidate
}
