import { canonicalJson, isRecord } from '@toolcrib/core/internal'
import { ITEM_KINDS, type ItemKind, type ServerItem } from '../listed/server-item.ts'
import { type LockedDefinition, ownValue, sha256 } from './definition.ts'
import { ITEM_WORDS, type ItemDefinition, itemName, itemsByKey, type LockedItem } from './locked-item.ts'
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

/** How a server, a tool, or anything else that a server offers differs from its approval. */
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
  | ({ readonly kind: `${ItemWord}-added`; readonly definition: ItemDefinition } & ItemPlace)
  | ({ readonly kind: `${ItemWord}-removed` } & ItemPlace)
  | ({ readonly kind: `${ItemWord}-changed`; readonly fields: readonly FieldChange[] } & ItemPlace)

type ItemWord = (typeof ITEM_WORDS)[ItemKind]

interface ItemPlace {
  readonly server: string
  readonly list: ItemKind
  /** The server's own name for it, its URI or its URI template. */
  readonly item: string
  /** Its name in `toolcrib approve`: `weather:prompt:plan`. */
  readonly name: string
}

interface ToolPlace {
  readonly server: string
  /** The server's own name for it. */
  readonly tool: string
  readonly name: string
}

/**
 * Compares servers with their approval, by server, tool, prompt and so on. What a new server offers, or one whose
 * command changed, is not compared, since the server must be approved first.
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
    return [
      ...(now.tools ? compareTools(server, locked, toolsByName(now.tools)) : []),
      ...ITEM_KINDS.flatMap((kind) => compareItems(server, kind, locked.items?.[kind], now.items?.get(kind))),
    ]
  })
}

/** Whether a server was approved when approvals covered only tools; `toolcrib lock` covers the rest. */
export function isToolsOnly({ items }: LockedServer): boolean {
  return items === undefined
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

/** Differences between a tool's definition and the one that a server's approval has. */
export function toolChanges(server: LockedServer, locked: LockedTool, now: ListedTool): FieldChange[] {
  const isOldHash = isToolsOnly(server) && locked.hash === now.hashWithoutUi
  return entryChanges(locked, isOldHash ? { ...now, hash: locked.hash } : now)
}

/**
 * Differences between a definition and the approved one. Where the approved definition is unknown, the digests and the
 * whole current definition are returned.
 */
export function entryChanges(
  locked: LockedItem | LockedTool,
  now: Required<LockedItem> | ListedTool,
): FieldChange[] {
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
  return keysOf(locked.tools, tools).flatMap((tool): LockChange[] => {
    const place = { server, tool, name: `mcp__${server}__${tool}` }
    const before = locked.tools.get(tool)
    const after = tools.get(tool)
    if (!after) return [{ kind: 'tool-removed', ...place }]
    if (!before) return [{ kind: 'tool-added', ...place, definition: after.definition }]
    const fields = toolChanges(locked, before, after)
    return fields.length > 0 ? [{ kind: 'tool-changed', ...place, fields }] : []
  })
}

/** Nothing differs where the approval covers only tools, and where it is unknown what the server offers. */
function compareItems(
  server: string,
  list: ItemKind,
  locked: ReadonlyMap<string, LockedItem> | undefined,
  items: readonly ServerItem[] | undefined,
): LockChange[] {
  if (!locked || !items) return []
  const listed = itemsByKey(items)
  const word = ITEM_WORDS[list]
  return keysOf(locked, listed).flatMap((item): LockChange[] => {
    const place = { server, list, item, name: itemName(server, list, item) }
    const before = locked.get(item)
    const after = listed.get(item)
    if (!after) return [{ kind: `${word}-removed`, ...place }]
    if (!before) return [{ kind: `${word}-added`, ...place, definition: after.definition }]
    const fields = entryChanges(before, after)
    return fields.length > 0 ? [{ kind: `${word}-changed`, ...place, fields }] : []
  })
}

function keysOf(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].sort()
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
