import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { applyEdits, modify, type ParseError, parse as parseJson, printParseErrorCode } from 'jsonc-parser'
import { parse as parseToml, stringify, TomlError } from 'smol-toml'
import { ToolcribError } from 'toolcrib'
import { readConfig } from 'toolcrib/mcp'
import { type ImportedServer, serversUnder } from './read-servers.ts'

/** The file that servers are added to. */
export interface TargetFile {
  /** The servers that are in it. */
  readonly present: ReadonlyMap<string, ImportedServer>
  /** True when it held something that counts for nothing. */
  readonly isReplaced: boolean
  /** Adds servers behind what is there; the whole is checked before it takes the file's place. */
  add(servers: ReadonlyMap<string, ImportedServer>): Promise<void>
}

/**
 * Reads the file, in the format that its name says. `isAnew` goes by nothing that is in it. Throws `config-invalid` for
 * one that makes no sense.
 */
export async function openTarget(path: string, { isAnew }: { isAnew: boolean }): Promise<TargetFile> {
  const format = formatOf(path)
  const found = await readText(path)
  const isEmpty = found === undefined || found.trim() === ''
  const before = isAnew || isEmpty ? undefined : found
  return {
    isReplaced: isAnew && !isEmpty,
    present: before === undefined ? new Map() : presentServers(parsed(before, path, format)),
    add: async (servers) => {
      const text = format.add(before, Object.fromEntries(servers))
      try {
        readConfig(format.parse(text))
      } catch (cause) {
        const step = 'import to another file with --to, and join them by hand'
        throw new ToolcribError('config-invalid', `${path} cannot be added to; ${step}`, { cause })
      }
      await replaceFile(path, text, { isNew: found === undefined })
    },
  }
}

interface Format {
  parse(text: string): unknown
  /** The text with servers added; comments and order of what is there stay. */
  add(before: string | undefined, servers: Readonly<Record<string, ImportedServer>>): string
}

const TOML: Format = {
  parse: (text) => parseToml(text),
  add: (before, servers) => {
    const tables = stringify({ server: servers })
    return before === undefined ? `${tables}\n` : `${before.trimEnd()}\n\n${tables}\n`
  },
}

const JSON_WITH_COMMENTS: Format = {
  parse: (text) => {
    const errors: ParseError[] = []
    const data: unknown = parseJson(text, errors, { allowTrailingComma: true })
    const [error] = errors
    if (error) throw new Error(`${printParseErrorCode(error.error)} at character ${error.offset}`)
    return data
  },
  add: (before, servers) => {
    if (before === undefined) return `${JSON.stringify({ mcpServers: servers }, null, 2)}\n`
    // Some editors write `servers`; a file goes on as it began.
    const data = JSON_WITH_COMMENTS.parse(before)
    const key = isTable(data) && !('mcpServers' in data) && 'servers' in data ? 'servers' : 'mcpServers'
    const formattingOptions = { insertSpaces: true, tabSize: 2 }
    return Object.entries(servers).reduce(
      (text, [name, server]) => applyEdits(text, modify(text, [key, name], server, { formattingOptions })),
      before,
    )
  },
}

function formatOf(path: string): Format {
  if (path.endsWith('.toml')) return TOML
  if (path.endsWith('.json')) return JSON_WITH_COMMENTS
  throw new ToolcribError('config-invalid', `${path} is neither .toml nor .json; name such a file by --to`)
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new ToolcribError('config-invalid', `${path} cannot be read; pass another file by --to`, { cause })
  }
}

function parsed(text: string, path: string, format: Format): unknown {
  try {
    return format.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    const place = cause instanceof TomlError ? `${path}:${cause.line}` : path
    const step = 'mend it there, import to another file with --to, or write it anew with --force'
    throw new ToolcribError('config-invalid', `${place}: ${reason}; ${step}`, { cause })
  }
}

const presentServers = serversUnder('server', 'servers', 'mcpServers')

async function replaceFile(path: string, text: string, { isNew }: { isNew: boolean }): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    // Values of variables may be secrets: a new file is for its owner alone.
    const mode = isNew ? 0o600 : (await stat(path)).mode & 0o777
    await mkdir(dirname(path), { recursive: true })
    await writeFile(draft, text, { mode })
    await rename(draft, path)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const step = 'pass another file by --to'
    throw new ToolcribError('config-invalid', `${path} cannot be written: ${reason}; ${step}`, { cause })
  } finally {
    await rm(draft, { force: true }).catch(() => {})
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
