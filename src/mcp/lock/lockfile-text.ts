import { visit } from 'jsonc-parser'
import { describeError, ToolcribError } from '../../errors.ts'
import { canonicalJson, isRecord } from '../../json.ts'
import { withoutHidden } from '../../names.ts'
import { readServerTool } from '../server-tool.ts'
import {
  DEFINITION_FIELDS,
  definitionOf,
  hashDefinition,
  type LockedDefinition,
  sha256,
} from './definition.ts'
import type { LockedServer, LockedTool, Lockfile } from './lockfile.ts'
import type { ServerCommand } from './server-command.ts'

const VERSION = 1

/**
 * A lockfile as text, made for review: names in order, one field a line, descriptions line by line, and characters
 * that hide written as escapes. Equal lockfiles give equal text.
 */
export function writeLock({ servers }: Lockfile): string {
  const data = {
    version: VERSION,
    servers: sorted(servers, ({ hash, command, tools }) => ({
      hash,
      command: inOrder(command),
      tools: sorted(tools, toolData),
    })),
  }
  return `${escapeHidden(JSON.stringify(data, null, 2))}\n`
}

/** Reads a lockfile's text. Whatever is wrong with it is `config-invalid`: it is never partly believed. */
export function readLock(text: string, path: string): Lockfile {
  const data = parse(text, path)
  if (data.version !== VERSION)
    throw damaged(path, `its version is ${JSON.stringify(data.version)}, and this toolcrib knows ${VERSION}`)
  if (!isRecord(data.servers)) throw damaged(path, 'it has no servers')
  const servers = Object.entries(data.servers).map(
    ([name, server]) => [name, readServer(server, name, path)] as const,
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
  if (!isRecord(data)) throw damaged(path, 'it holds no JSON object')
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

function readServer(data: unknown, server: string, path: string): LockedServer {
  if (!isRecord(data) || !isRecord(data.command) || !isRecord(data.tools))
    throw damaged(path, `its server "${server}" has no command or no tools`)
  const command = data.command as unknown as ServerCommand
  if (data.hash !== sha256(command))
    throw damaged(path, `the hash of the server "${server}" is not that of its command`)
  const tools = Object.entries(data.tools).map(
    ([name, tool]) => [name, readTool(tool, name, `${server}.${name}`, path)] as const,
  )
  return { hash: data.hash, command, tools: new Map(tools) }
}

function readTool(data: unknown, name: string, label: string, path: string): LockedTool {
  const definition = isRecord(data) ? readDefinition(data, name) : undefined
  if (!isRecord(data) || !definition) throw damaged(path, `its tool "${label}" has no definition`)
  if (data.hash !== hashDefinition(name, definition))
    throw damaged(path, `the hash of the tool "${label}" is not that of its definition`)
  return { hash: data.hash, definition }
}

function readDefinition(data: Record<string, unknown>, name: string): LockedDefinition | undefined {
  const { description } = data
  const joined = Array.isArray(description) ? description.join('\n') : description
  const tool = readServerTool({ ...data, name, description: joined })
  return 'reason' in tool ? undefined : definitionOf(tool)
}

function damaged(path: string, reason: string, cause?: unknown): ToolcribError {
  const step = 'restore it from version control, or review the servers anew with "toolcrib lock"'
  return new ToolcribError('config-invalid', `${path} is damaged: ${reason}; ${step}`, { cause })
}
