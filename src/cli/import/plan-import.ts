import { type ParseError, parse as parseJson, printParseErrorCode } from 'jsonc-parser'
import { parse as parseToml, TomlError } from 'smol-toml'
import { ToolcribError } from 'toolcrib'
import { readConfig } from 'toolcrib/mcp'
import type { ClientFile } from './client-files.ts'
import type { ImportedServer } from './read-servers.ts'

/** What happens to one server that was found. */
export interface PlannedServer {
  readonly name: string
  /** `added` under the name `as`; `present`: already there under that name; the others are skipped. */
  readonly outcome: 'added' | 'present' | 'disabled' | 'invalid'
  readonly as?: string
  readonly reason?: string
  /** The program's own keys that are not imported. */
  readonly leftBehind?: readonly string[]
}

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

/**
 * Decides what to import from the files that exist. A server that is already there under any name is skipped; when
 * another server has its name, the program's name is appended. Existing content is not changed.
 */
export function planImport(
  files: readonly { readonly file: ClientFile; readonly text: string }[],
  present: ReadonlyMap<string, ImportedServer>,
): ImportPlan {
  const known = new Map(present)
  const added = new Map<string, ImportedServer>()
  const planned = files.map(({ file, text }): PlannedFile => {
    const { client, title, path } = file
    const place = { client, title, path }
    let servers: ReadonlyMap<string, ImportedServer>
    try {
      servers = file.read(parse(text, path))
    } catch (error) {
      return {
        ...place,
        problem: `${describe(error, text)}; correct the file, or name the programs to import from`,
        servers: [],
      }
    }
    const outcomes = [...servers].map(([name, { disabled, leftBehind, ...server }]): PlannedServer => {
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

function parse(text: string, path: string): unknown {
  if (path.endsWith('.toml')) return parseToml(text)
  const errors: ParseError[] = []
  const data: unknown = parseJson(text.replace(/^\uFEFF/, ' '), errors, { allowTrailingComma: true })
  const [error] = errors
  if (error) throw new JsonFault(error)
  return data
}

class JsonFault extends Error {
  readonly offset: number

  constructor({ error, offset }: ParseError) {
    const reason = printParseErrorCode(error).replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    super(`not valid JSON: ${reason.toLowerCase()}`)
    this.offset = offset
  }
}

/** Describes an error in a file, with the line if known. */
function describe(error: unknown, text: string): string {
  const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
  if (error instanceof TomlError) return `line ${error.line}: ${reason}`
  if (error instanceof RangeError) return 'nested too deeply'
  if (error instanceof JsonFault) return `line ${text.slice(0, error.offset).split('\n').length}: ${reason}`
  return reason
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

function sameServer(a: ImportedServer, b: ImportedServer): boolean {
  const identity = ({ command, args, env, cwd, url, headers }: ImportedServer) =>
    JSON.stringify([command, args ?? [], sortedEntries(env), cwd, url, sortedEntries(headers)])
  return identity(a) === identity(b)
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
