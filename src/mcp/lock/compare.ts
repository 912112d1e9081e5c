import { canonicalJson, isRecord } from '../../json.ts'
import { type LockedDefinition, sha256 } from './definition.ts'
import {
  type ListedTool,
  type LockedServer,
  type LockedTool,
  type Lockfile,
  type ObservedServer,
  toolsByName,
} from './lockfile.ts'
import { commandOf, saltedDigest } from './server-command.ts'

/** One difference; `before` or `after` is absent where there is no value. */
export interface FieldChange {
  /** `description`, `inputSchema.properties.path.type`, `args.1`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** How a server or a tool differs from its approval. */
export type LockChange =
  | { readonly kind: 'server-removed'; readonly server: string }
  /** For a new server, `fields` describes its command. */
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
  /** Its registered name. */
  readonly name: string
}

/**
 * Compares servers with their approval, by server and tool. Tools of a new server, or of one whose command changed,
 * are not compared, since the server must be approved first.
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
    const fields = [...commandChanges(locked, now), ...runsChanges(locked, now), ...programChanges(now)]
    if (fields.length > 0) return [{ kind: 'command-changed', server, fields }]
    return now.tools ? compareTools(server, locked, toolsByName(now.tools)) : []
  })
}

/** Long enough that a collision cannot be found by trial. */
const DIGEST_LENGTH = 16

/** Identifies one change, so that exactly the reviewed change can be approved as `name@digest`. */
export function changeDigest(change: LockChange): string {
  return sha256(change).slice('sha256-'.length).slice(0, DIGEST_LENGTH)
}

function newCommand({ config, runs }: ObservedServer): FieldChange[] {
  const command = commandOf(config, () => '(secret)')
  return fieldChanges({}, runs === undefined ? command : { ...command, runs })
}

/** A package or image that differs from the approved one, if both are known. */
function runsChanges(locked: LockedServer, { runs }: ObservedServer): FieldChange[] {
  if (locked.runs === undefined || runs === undefined || locked.runs === runs) return []
  return [{ path: 'runs', before: locked.runs, after: runs }]
}

/** Another program on this machine than the approved one. */
function programChanges({ program }: ObservedServer): FieldChange[] {
  return program ? [{ path: 'program', ...program }] : []
}

/** Differences between a server's command and the approved one. */
export function commandChanges(locked: LockedServer, { config }: ObservedServer): FieldChange[] {
  const command = commandOf(config, saltedDigest(locked.salt ?? ''))
  return locked.hash === sha256(command) ? [] : fieldChanges(locked.command, command)
}

/**
 * Differences between a tool's definition and the approved one. Where the approved definition is unknown, the digests
 * and the whole current definition are returned.
 */
export function toolChanges(locked: LockedTool, now: ListedTool): FieldChange[] {
  if (locked.hash === now.hash)
    // A reviewer who saw another summary approved something else.
    return locked.summary === now.summary ? [] : fieldChanges(locked, { ...locked, summary: now.summary })
  if (locked.definition) return fieldChanges(locked.definition, now.definition)
  const digest = { path: 'digest', before: locked.hash, after: now.hash }
  return [digest, ...fieldChanges({}, now.definition)]
}

function compareTools(
  server: string,
  locked: LockedServer,
  tools: ReadonlyMap<string, ListedTool>,
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

/** Descends into what both have, and returns the deepest differences. */
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

/** Skips the common start and end of both lists, so that one inserted item is one change. */
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

/** Absent is not the same as null: an added `default: null` is a change. */
function isSame(before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) return before === after
  return canonicalJson(before) === canonicalJson(after)
}

function ownValue(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
