import { visit } from 'jsonc-parser'
import { describeError, ToolcribError } from '../../errors.ts'
import { canonicalJson, isRecord } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import { readServerTool } from '../server/server-tool.ts'
import { isTooDeep, type LockedDefinition, pickDefinition, sha256 } from './definition.ts'
import { type LockedServer, type LockedTool, type Lockfile, lockTool } from './lockfile.ts'
import type { ServerCommand } from './server-command.ts'

const VERSION = 3
/** Version 2 contained the definitions, and its approvals are still valid. */
const WITH_DEFINITIONS = 2
/**
 * Version 1 had short digests, header names without values, and order-sensitive sets; its tool approvals are still
 * valid.
 */
const FIRST_VERSION = 1

/** The maximum depth of a definition, below its server and name. */
const MAX_DEPTH = 210

/**
 * Writes a lockfile for review: names in order, one line per tool with its hash and a summary, and hidden characters as
 * escapes. Equal lockfiles give equal text. The definitions are in a separate file.
 */
export function writeLock({ servers }: Lockfile): string {
  const data = {
    version: VERSION,
    servers: sorted(servers, ({ hash, salt, command, runs, approval, tools }) => ({
      hash,
      ...(salt === undefined ? {} : { salt }),
      command: inOrder(command),
      ...(runs === undefined ? {} : { runs }),
      ...(approval === undefined ? {} : { approval }),
      tools: sorted(tools, ({ hash, summary }) => `${hash} ${summary}`.trim()),
    })),
  }
  return `${escapeHidden(JSON.stringify(data, null, 2))}\n`
}

/**
 * Reads a lockfile's text. `definitions`, by server and tool, are taken over where they match their hashes. Throws
 * `config-invalid` for any error: a lockfile is never partly trusted. In the first version, servers with digests or
 * headers lose their approval, because their commands cannot be compared.
 */
export function readLock(
  text: string,
  path: string,
  definitions: Readonly<Record<string, unknown>> = {},
): Lockfile {
  const data = parse(text, path)
  const { version } = data
  if (version !== VERSION && version !== WITH_DEFINITIONS && version !== FIRST_VERSION)
    throw damaged(path, `its version is ${JSON.stringify(version)}, but this toolcrib supports ${VERSION}`)
  if (!isRecord(data.servers)) throw damaged(path, 'it has no servers')
  const servers = Object.entries(data.servers).map(
    ([name, server]) =>
      [name, readServer(server, { name, path, version, known: ownValue(definitions, name) })] as const,
  )
  return { servers: new Map(servers) }
}

/** A map as a record, its keys in order. */
export function sorted<Value>(
  map: ReadonlyMap<string, Value>,
  toData: (value: Value) => unknown,
): Record<string, unknown> {
  const names = [...map.keys()].sort()
  return Object.fromEntries(names.map((name) => [name, toData(map.get(name) as Value)]))
}

/** Data with its keys in order. */
export function inOrder(data: unknown): unknown {
  return JSON.parse(canonicalJson(data))
}

/** JSON has no such characters outside of strings, so escapes can be inserted afterwards. */
export function escapeHidden(json: string): string {
  return json.replace(/[^\n\x20-\x7e]/gu, (character) => {
    if (withoutHidden(character) !== '') return character
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}

function parse(text: string, path: string): Record<string, unknown> {
  let data: unknown
  try {
    data = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    const isConflict = /^(<{7}|>{7}) /m.test(text)
    throw damaged(path, isConflict ? 'it contains a merge conflict' : describeError(cause), cause)
  }
  if (!isRecord(data)) throw damaged(path, 'it is not a JSON object')
  if (isTooDeep(data, MAX_DEPTH)) throw damaged(path, 'it is nested too deeply')
  const twice = repeatedKey(text)
  if (twice !== undefined) throw damaged(path, `duplicate key "${twice}"`)
  return data
}

/** Only the last of duplicate keys would count, whichever of them a reviewer saw. */
function repeatedKey(text: string): string | undefined {
  const open: Set<string>[] = []
  let repeated: string | undefined
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty: (key) => {
      const keys = open.at(-1)
      if (keys?.has(key)) repeated ??= key
      keys?.add(key)
    },
  })
  return repeated
}

/** The server being read, and its file. */
interface Reading {
  readonly name: string
  readonly path: string
  readonly version: number
  /** The definitions of its tools, as the file beside the lockfile has them. */
  readonly known: unknown
}

function readServer(data: unknown, reading: Reading): LockedServer {
  const { name: server, path } = reading
  if (!isRecord(data) || !isRecord(data.command) || !isRecord(data.tools))
    throw damaged(path, `server "${server}" has no command or no tools`)
  const { hash, salt, runs, approval } = data
  const command = data.command as unknown as ServerCommand
  if (hash !== sha256(command))
    throw damaged(path, `the hash of server "${server}" does not match its command`)
  if (salt !== undefined && typeof salt !== 'string')
    throw damaged(path, `the salt of server "${server}" is not a string`)
  if (runs !== undefined && typeof runs !== 'string')
    throw damaged(path, `the "runs" of server "${server}" is not a string`)
  if (approval !== undefined && typeof approval !== 'string')
    throw damaged(path, `the "approval" of server "${server}" is not a string`)
  const tools = Object.entries(data.tools).map(
    ([name, tool]) => [name, readTool(tool, name, reading)] as const,
  )
  return {
    hash,
    ...(salt === undefined ? {} : { salt }),
    command,
    ...(runs === undefined ? {} : { runs }),
    ...(approval === undefined ? {} : { approval }),
    tools: new Map(tools),
  }
}

function readTool(data: unknown, name: string, reading: Reading): LockedTool {
  return reading.version === VERSION ? readLine(data, name, reading) : readOldTool(data, name, reading)
}

const LINE = /^(sha256-[0-9a-f]{64})(?: (.*))?$/s

function readLine(data: unknown, name: string, { name: server, path, known }: Reading): LockedTool {
  const label = `${server}.${name}`
  const [, hash, summary = ''] = (typeof data === 'string' && LINE.exec(data)) || []
  if (hash === undefined) throw damaged(path, `tool "${label}" has no hash`)
  const listed = isRecord(known) ? ownValue(known, name) : undefined
  const definition = isRecord(listed) ? readDefinition(listed, name) : undefined
  const tool = definition && lockTool(name, definition)
  if (tool?.hash !== hash) return { hash, summary }
  if (tool.summary !== summary)
    throw damaged(path, `the summary of tool "${label}" does not match its definition`)
  return tool
}

function readOldTool(data: unknown, name: string, { name: server, path, version }: Reading): LockedTool {
  const label = `${server}.${name}`
  const read = isRecord(data) ? readDefinition(data, name) : undefined
  if (!isRecord(data) || !read) throw damaged(path, `tool "${label}" has no definition`)
  const tool = lockTool(name, read)
  const stated = version === FIRST_VERSION ? sha256({ name, ...read }) : tool.hash
  if (data.hash !== stated) throw damaged(path, `the hash of tool "${label}" does not match its definition`)
  return tool
}

function ownValue(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function readDefinition(data: Record<string, unknown>, name: string): LockedDefinition | undefined {
  const { description } = data
  const joined = Array.isArray(description) ? description.join('\n') : description
  const tool = readServerTool({ ...data, name, description: joined })
  return 'reason' in tool ? undefined : pickDefinition(tool)
}

function damaged(path: string, reason: string, cause?: unknown): ToolcribError {
  const step = 'restore it from version control, or run "toolcrib lock" to review the servers again'
  return new ToolcribError('config-invalid', `${path} is damaged: ${reason}; ${step}`, { cause })
}
