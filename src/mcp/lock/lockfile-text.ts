import { visit } from 'jsonc-parser'
import { describeError, ToolcribError } from '../../errors.ts'
import { canonicalJson, isRecord } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import { readServerTool } from '../server/server-tool.ts'
import {
  DEFINITION_FIELDS,
  definitionOf,
  hashDefinition,
  isTooDeep,
  type LockedDefinition,
  pickDefinition,
  sha256,
} from './definition.ts'
import type { LockedServer, LockedTool, Lockfile } from './lockfile.ts'
import type { ServerCommand } from './server-command.ts'

const VERSION = 2
/** It had short digests, names of headers alone, and counted the order of sets; what it says of a tool still holds. */
const OLD_VERSION = 1

/** As deep as a definition may be, below its server and its name. */
const MAX_DEPTH = 210

/**
 * A lockfile as text, made for review: names in order, one field a line, descriptions line by line, and characters
 * that hide written as escapes. Equal lockfiles give equal text.
 */
export function writeLock({ servers }: Lockfile): string {
  const data = {
    version: VERSION,
    servers: sorted(servers, ({ hash, salt, command, runs, tools }) => ({
      hash,
      ...(salt === undefined ? {} : { salt }),
      command: inOrder(command),
      ...(runs === undefined ? {} : { runs }),
      tools: sorted(tools, toolData),
    })),
  }
  return `${escapeHidden(JSON.stringify(data, null, 2))}\n`
}

/**
 * Reads a lockfile's text. Whatever is wrong with it is `config-invalid`: it is never partly believed. Of one in the
 * old form, servers with digests or headers are approved no more: their commands do not compare.
 */
export function readLock(text: string, path: string): Lockfile {
  const data = parse(text, path)
  const { version } = data
  if (version !== VERSION && version !== OLD_VERSION)
    throw damaged(path, `its version is ${JSON.stringify(version)}, and this toolcrib knows ${VERSION}`)
  if (!isRecord(data.servers)) throw damaged(path, 'it has no servers')
  const servers = Object.entries(data.servers).map(
    ([name, server]) => [name, readServer(server, { name, path, version })] as const,
  )
  return { servers: new Map(servers) }
}

function sorted<Value>(
  map: ReadonlyMap<string, Value>,
  toData: (value: Value) => unknown,
): Record<string, unknown> {
  const names = [...map.keys()].sort()
  return Object.fromEntries(names.map((name) => [name, toData(map.get(name) as Value)]))
}

function toolData({ hash, definition }: LockedTool): Record<string, unknown> {
  const { description } = definition
  const fields = DEFINITION_FIELDS.filter((field) => definition[field] !== undefined)
  return {
    hash,
    ...Object.fromEntries(fields.map((field) => [field, inOrder(definition[field])])),
    ...(description.includes('\n') ? { description: description.split('\n') } : {}),
  }
}

function inOrder(data: unknown): unknown {
  return JSON.parse(canonicalJson(data))
}

/** Outside of texts JSON has no such characters, so escapes can be put in afterwards. */
function escapeHidden(json: string): string {
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
    throw damaged(path, isConflict ? 'it holds a merge conflict' : describeError(cause), cause)
  }
  if (!isRecord(data)) throw damaged(path, 'it does not hold a JSON object')
  if (isTooDeep(data, MAX_DEPTH)) throw damaged(path, 'it is nested too deeply')
  const twice = repeatedKey(text)
  if (twice !== undefined) throw damaged(path, `the key "${twice}" stands twice in one object`)
  return data
}

/** Of two keys with one name only the last would count, whichever of them a reviewer saw. */
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

/** Which server is read, from where. */
interface Reading {
  readonly name: string
  readonly path: string
  readonly version: number
}

function readServer(data: unknown, reading: Reading): LockedServer {
  const { name: server, path } = reading
  if (!isRecord(data) || !isRecord(data.command) || !isRecord(data.tools))
    throw damaged(path, `its server "${server}" has no command or no tools`)
  const { hash, salt, runs } = data
  const command = data.command as unknown as ServerCommand
  if (hash !== sha256(command))
    throw damaged(path, `the hash of the server "${server}" is not that of its command`)
  if (salt !== undefined && typeof salt !== 'string')
    throw damaged(path, `the salt of the server "${server}" is not a text`)
  if (runs !== undefined && typeof runs !== 'string')
    throw damaged(path, `what the server "${server}" runs is not a text`)
  const tools = Object.entries(data.tools).map(
    ([name, tool]) => [name, readTool(tool, name, reading)] as const,
  )
  return {
    hash,
    ...(salt === undefined ? {} : { salt }),
    command,
    ...(runs === undefined ? {} : { runs }),
    tools: new Map(tools),
  }
}

function readTool(data: unknown, name: string, { name: server, path, version }: Reading): LockedTool {
  const label = `${server}.${name}`
  const read = isRecord(data) ? readDefinition(data, name) : undefined
  if (!isRecord(data) || !read) throw damaged(path, `its tool "${label}" has no definition`)
  const hash = hashDefinition(name, read)
  const stated = version === OLD_VERSION ? sha256({ name, ...read }) : hash
  if (data.hash !== stated)
    throw damaged(path, `the hash of the tool "${label}" is not that of its definition`)
  return { hash, definition: definitionOf(read) }
}

function readDefinition(data: Record<string, unknown>, name: string): LockedDefinition | undefined {
  const { description } = data
  const joined = Array.isArray(description) ? description.join('\n') : description
  const tool = readServerTool({ ...data, name, description: joined })
  return 'reason' in tool ? undefined : pickDefinition(tool)
}

function damaged(path: string, reason: string, cause?: unknown): ToolcribError {
  const step = 'restore it from version control, or review the servers anew with "toolcrib lock"'
  return new ToolcribError('config-invalid', `${path} is damaged: ${reason}; ${step}`, { cause })
}
