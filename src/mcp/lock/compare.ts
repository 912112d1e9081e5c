import { canonicalJson, isRecord } from '../../json.ts'
import { type LockedDefinition, sha256 } from './definition.ts'
import {
  type LockedServer,
  type LockedTool,
  type Lockfile,
  type ObservedServer,
  toolsByName,
} from './lockfile.ts'
import { commandOf, saltedDigest } from './server-command.ts'

/** One place where something differs; `before` or `after` is absent where there was or is nothing. */
export interface FieldChange {
  /** `description`, `inputSchema.properties.path.type`, `args.1`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** How a server or a tool differs from what was approved. */
export type LockChange =
  | { readonly kind: 'server-removed'; readonly server: string }
  /** For a new server, the fields are its command. */
  | {
      readonly kind: 'server-added' | 'command-changed'
      readonly server: string
      readonly fields: readonly FieldChange[]
    }
  | ({ readonly kind: 'tool-added'; readonly definition: LockedDefinition } & ToolPlace)
  | ({ readonly kind: 'tool-removed' } & ToolPlace)
  | ({ readonly kind: 'tool-changed'; readonly fields: readonly FieldChange[] } & ToolPlace)

interface ToolPlace {
  readonly server: string
  /** The server's own name for it. */
  readonly tool: string
  /** The name it is registered under. */
  readonly name: string
}

/**
 * How servers differ from what was approved, by server and tool. Tools are compared where they are known; those of a
 * server that is new or has another command are not, since the server itself comes first.
 */
export function compareWithLock(
  lockfile: Lockfile,
  observed: ReadonlyMap<string, ObservedServer>,
): LockChange[] {
  const names = new Set([...lockfile.servers.keys(), ...observed.keys()])
  return [...names].sort().flatMap((server): LockChange[] => {
    const locked = lockfile.servers.get(server)
    const now = observed.get(server)
    if (lockfile.exempt?.has(server)) return []
    if (!now) return [{ kind: 'server-removed', server }]
    if (!locked) return [{ kind: 'server-added', server, fields: newCommand(now) }]
    const fields = [...commandChanges(locked, now), ...runsChanges(locked, now)]
    if (fields.length > 0) return [{ kind: 'command-changed', server, fields }]
    return now.tools ? compareTools(server, locked, toolsByName(now.tools)) : []
  })
}

/** As much of a hash as nobody can meet by trying. */
const DIGEST_LENGTH = 16

/** What stands for one change: whoever has looked at it can approve just that by `name@digest`. */
export function changeDigest(change: LockChange): string {
  return sha256(change).slice('sha256-'.length).slice(0, DIGEST_LENGTH)
}

function newCommand({ config, runs }: ObservedServer): FieldChange[] {
  const command = commandOf(config, () => '(secret)')
  return fieldChanges({}, runs === undefined ? command : { ...command, runs })
}

/** Another package or image than the approved one, where both are known. */
function runsChanges(locked: LockedServer, { runs }: ObservedServer): FieldChange[] {
  if (locked.runs === undefined || runs === undefined || locked.runs === runs) return []
  return [{ path: 'runs', before: locked.runs, after: runs }]
}

/** Where a server's command differs from the approved one. */
export function commandChanges(locked: LockedServer, { config }: ObservedServer): FieldChange[] {
  const command = commandOf(config, saltedDigest(locked.salt ?? ''))
  return locked.hash === sha256(command) ? [] : fieldChanges(locked.command, command)
}

/** Where a tool's definition differs from the approved one. */
export function toolChanges(locked: LockedTool, now: LockedTool): FieldChange[] {
  return locked.hash === now.hash ? [] : fieldChanges(locked.definition, now.definition)
}

function compareTools(
  server: string,
  locked: LockedServer,
  tools: ReadonlyMap<string, LockedTool>,
): LockChange[] {
  const names = new Set([...locked.tools.keys(), ...tools.keys()])
  return [...names].sort().flatMap((tool): LockChange[] => {
    const place = { server, tool, name: `mcp__${server}__${tool}` }
    const before = locked.tools.get(tool)
    const after = tools.get(tool)
    if (!after) return [{ kind: 'tool-removed', ...place }]
    if (!before) return [{ kind: 'tool-added', ...place, definition: after.definition }]
    const fields = toolChanges(before, after)
    return fields.length > 0 ? [{ kind: 'tool-changed', ...place, fields }] : []
  })
}

/** Goes down into what both have, and tells the deepest place where they part. */
function fieldChanges(before: unknown, after: unknown, path = ''): FieldChange[] {
  if (isSame(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after)) return itemChanges(before, after, path)
  if (isRecord(before) && isRecord(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
    return keys.flatMap((key) => {
      const inner = path === '' ? key : `${path}.${key}`
      return fieldChanges(ownValue(before, key), ownValue(after, key), inner)
    })
  }
  return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }]
}

/** What both lists begin and end with is the same, so that one item put in between is one change. */
function itemChanges(before: readonly unknown[], after: readonly unknown[], path: string): FieldChange[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isSame(before[start], after[start])) start++
  let end = 0
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end++
  const gone = before.slice(start, before.length - end)
  const come = after.slice(start, after.length - end)
  return Array.from({ length: Math.max(gone.length, come.length) }).flatMap((_, at) =>
    fieldChanges(gone[at], come[at], path === '' ? `${start + at}` : `${path}.${start + at}`),
  )
}

/** Nothing is not the same as null: a `default: null` that comes in is a change. */
function isSame(before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) return before === after
  return canonicalJson(before) === canonicalJson(after)
}

function ownValue(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
