import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { applyEdits, modify, type ParseError, parse as parseJson, printParseErrorCode } from 'jsonc-parser'
import { parse as parseToml, stringify, TomlError } from 'smol-toml'
import { ToolcribError } from 'toolcrib'
import { readConfig } from 'toolcrib/mcp'
import { writeWhole } from 'toolcrib/stores'
import { type ImportedServer, serversUnder } from './read-servers.ts'

/** The file that servers are added to. */
export interface TargetFile {
  /** The servers already in it. */
  readonly present: ReadonlyMap<string, ImportedServer>
  /** True when it has content that will be replaced. */
  readonly isReplaced: boolean
  /** Appends servers to the content; the result is validated before it replaces the file. */
  add(servers: ReadonlyMap<string, ImportedServer>): Promise<void>
}

/**
 * Opens the file, in the format of its extension. With `isReplaced`, its content is ignored. Throws `config-invalid`
 * for a file that cannot be read or parsed.
 */
export async function openTarget(path: string, { isReplaced }: { isReplaced: boolean }): Promise<TargetFile> {
  const format = formatOf(path)
  const found = await readText(path)
  const isEmpty = found === undefined || found.trim() === ''
  const before = isReplaced || isEmpty ? undefined : found
  return {
    isReplaced: isReplaced && !isEmpty,
    present: before === undefined ? new Map() : presentServers(parsed(before, path, format)),
    add: async (servers) => {
      const text = format.add(before, Object.fromEntries(servers))
      try {
        readConfig(format.parse(text))
      } catch (cause) {
        const step = 'import to another file with --to, and merge them by hand'
        throw new ToolcribError('config-invalid', `servers cannot be added to ${path}; ${step}`, { cause })
      }
      await replaceFile(path, text)
    },
  }
}

interface Format {
  parse(text: string): unknown
  /** Returns the text with the servers added; comments and order are preserved. */
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
    // Some editors write `servers`; the file keeps its key.
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
  throw new ToolcribError('config-invalid', `${path} is neither .toml nor .json; pass such a file with --to`)
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new ToolcribError('config-invalid', `${path} cannot be read; pass another file with --to`, {
      cause,
    })
  }
}

function parsed(text: string, path: string, format: Format): unknown {
  try {
    return format.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    const place = cause instanceof TomlError ? `${path}:${cause.line}` : path
    const step = 'correct it, import to another file with --to, or replace it with --force'
    throw new ToolcribError('config-invalid', `${place}: ${reason}; ${step}`, { cause })
  }
}

const presentServers = serversUnder('server', 'servers', 'mcpServers')

async function replaceFile(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    // Values of variables may be secrets, so a new file is readable only by its owner.
    await writeWhole(path, text, { mode: 0o600 })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const step = 'pass another file with --to'
    throw new ToolcribError('config-invalid', `${path} cannot be written: ${reason}; ${step}`, { cause })
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
