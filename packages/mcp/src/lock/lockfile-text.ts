import { ToolcribError } from '@toolcrib/core'
import { canonicalJson, describeError, isRecord, sharedSlices, withoutHidden } from '@toolcrib/core/internal'
import { visit } from 'jsonc-parser'
import { ITEM_KINDS, type ItemKind } from '../listed/server-item.ts'
import { readServerTool } from '../listed/server-tool.ts'
import { isTooDeep, type LockedDefinition, ownValue, pickDefinition, sha256 } from './definition.ts'
import { itemName, type LockedItem, lockedItems, lockItem } from './locked-item.ts'
import { type LockedServer, type LockedTool, type Lockfile, lockTool } from './lockfile.ts'
import type { ServerCommand } from './server-command.ts'

const VERSION = 4
/** Version 3 covered only tools, and their approvals are still valid. */
const TOOLS_ONLY = 3
/** Version 2 contained the definitions; its approvals are valid, too. */
const WITH_DEFINITIONS = 2
/**
 * Version 1 had short digests, header names without values, and order-sensitive sets; its tool approvals are still
 * valid.
 */
const FIRST_VERSION = 1

const VERSIONS: readonly unknown[] = [VERSION, TOOLS_ONLY, WITH_DEFINITIONS, FIRST_VERSION]

/** The maximum depth of a definition, below its server and name. */
const MAX_DEPTH = 210

/**
 * Writes a lockfile for review: names in order, one line per tool, prompt and so on with its hash and a summary, and
 * hidden characters as escapes. Equal lockfiles give equal text. The definitions are in a separate file.
 */
export function writeLock({ servers }: Lockfile): string {
  const data = {
    version: VERSION,
    servers: sorted(servers, ({ hash, salt, command, runs, approval, tools, items }) => ({
      hash,
      ...(salt === undefined ? {} : { salt }),
      command: inOrder(command),
      ...(runs === undefined ? {} : { runs }),
      ...(approval === undefined ? {} : { approval }),
      tools: sorted(tools, lineOf),
      ...(items ? Object.fromEntries(ITEM_KINDS.map((kind) => [kind, sorted(items[kind], lineOf)])) : {}),
    })),
  }
  return `${escapeHidden(JSON.stringify(data, null, 2))}\n`
}

function lineOf({ hash, summary }: LockedTool | LockedItem): string {
  return `${hash} ${summary}`.trim()
}

/**
 * Reads a lockfile's text, in slices. `definitions`, as `readDefinitions()` returns them, are taken over where they match their hashes. Throws
 * `config-invalid` for any error: a lockfile is never partly trusted. In the first version, servers with digests or
 * headers lose their approval, because their commands cannot be compared.
 */
export async function readLock(
  text: string,
  path: string,
  definitions: Readonly<Record<string, unknown>> = {},
): Promise<Lockfile> {
  const data = parse(text, path)
  const { version } = data
  await sharedSlices.pause()
  if (!VERSIONS.includes(version))
    throw damaged(path, `its version is ${JSON.stringify(version)}, but this toolcrib supports ${VERSION}`)
  if (!isRecord(data.servers)) throw damaged(path, 'it has no servers')
  const servers = new Map<string, LockedServer>()
  for (const [name, server] of Object.entries(data.servers))
    servers.set(name, await readServer(server, { name, path, version: Number(version), definitions }))
  return { servers }
}

/** Where the definitions of a server's prompts, resources and so on are. No server's name contains a comma. */
export function definitionsKey(server: string, kind: ItemKind): string {
  return `${server}, ${kind}`
}

/** The fields that the file of definitions has line by line, if they have several. */
export const TEXTS = ['description', 'text']

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
  /** The definitions in the file beside the lockfile. */
  readonly definitions: Readonly<Record<string, unknown>>
}

async function readServer(data: unknown, reading: Reading): Promise<LockedServer> {
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
  const tools = new Map<string, LockedTool>()
  await sharedSlices.each(Object.entries(data.tools), ([name, tool]) =>
    tools.set(name, readTool(tool, name, reading)),
  )
  return {
    hash,
    ...(salt === undefined ? {} : { salt }),
    command,
    ...(runs === undefined ? {} : { runs }),
    ...(approval === undefined ? {} : { approval }),
    tools,
    ...readItems(data, reading),
  }
}

/** Everything besides tools, which version 4 has for the servers that were approved since. */
function readItems(data: Record<string, unknown>, reading: Reading): Pick<LockedServer, 'items'> {
  const { name: server, path, version, definitions } = reading
  if (version < VERSION || data.instructions === undefined) return {}
  const items = lockedItems((kind): ReadonlyMap<string, LockedItem> => {
    const lines = data[kind]
    if (!isRecord(lines)) throw damaged(path, `server "${server}" has no ${kind}`)
    const known = ownValue(definitions, definitionsKey(server, kind))
    const read = Object.entries(lines).map(([key, line]) => {
      const definition = isRecord(known) ? ownValue(known, key) : undefined
      const item = isRecord(definition) ? lockItem(kind, key, joinedText(definition)) : undefined
      return [key, readLine(line, item, { label: itemName(server, kind, key), path })] as const
    })
    return new Map(read)
  })
  return { items }
}

function readTool(data: unknown, name: string, reading: Reading): LockedTool {
  const { name: server, path, version, definitions } = reading
  if (version < TOOLS_ONLY) return readOldTool(data, name, reading)
  const known = ownValue(definitions, server)
  const listed = isRecord(known) ? ownValue(known, name) : undefined
  const definition = isRecord(listed) ? readDefinition(listed, name) : undefined
  const tool = definition && lockTool(name, definition)
  return readLine(data, tool, { label: `tool "${server}.${name}"`, path })
}

const LINE = /^(sha256-[0-9a-f]{64})(?: (.*))?$/s

/** Reads the line of a tool or item. `defined` is what the file of definitions has of it, if anything. */
function readLine<Entry extends LockedTool | LockedItem>(
  line: unknown,
  defined: Entry | undefined,
  { label, path }: { readonly label: string; readonly path: string },
): Entry | { readonly hash: string; readonly summary: string } {
  const [, hash, summary = ''] = (typeof line === 'string' && LINE.exec(line)) || []
  if (hash === undefined) throw damaged(path, `${label} has no hash`)
  if (defined?.hash !== hash) return { hash, summary }
  if (defined.summary !== summary)
    throw damaged(path, `the summary of ${label} does not match its definition`)
  return defined
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

function readDefinition(data: Record<string, unknown>, name: string): LockedDefinition | undefined {
  const tool = readServerTool({ ...joinedText(data), name })
  return 'reason' in tool ? undefined : pickDefinition(tool)
}

/** Texts of several lines are written line by line. */
function joinedText(data: Record<string, unknown>): Record<string, unknown> {
  const joined = TEXTS.filter((field) => Array.isArray(data[field])).map((field) => [
    field,
    (data[field] as unknown[]).join('\n'),
  ])
  return { ...data, ...Object.fromEntries(joined) }
}

function damaged(path: string, reason: string, cause?: unknown): ToolcribError {
  const step = 'restore it from version control, or run "toolcrib lock" to review the servers again'
  return new ToolcribError('config-invalid', `${path} is damaged: ${reason}; ${step}`, { cause })
}
