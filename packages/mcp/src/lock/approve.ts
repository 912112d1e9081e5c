import { matcher } from '@toolcrib/core/internal'
import { ITEM_KINDS } from '../listed/server-item.ts'
import { changeDigest, compareWithLock, isToolsOnly, type LockChange } from './compare.ts'
import { itemsByKey, NO_ITEMS } from './locked-item.ts'
import { type LockedServer, type Lockfile, lockServer, type ObservedServer, toolsByName } from './lockfile.ts'

/** The approved changes, and the lockfile with them. */
export interface Approval {
  readonly lockfile: Lockfile
  readonly approved: readonly LockChange[]
}

/**
 * Returns a predicate for changes named by names and globs: a server's name matches the server with all that it offers;
 * a tool matches by its registered name or as `server.tool`, a prompt as `server:prompt:name`, and so on. With a digest
 * after an `@`, only that one change matches.
 */
export function changeMatcher(patterns: readonly string[]): (change: LockChange) => boolean {
  const tests = patterns.map((pattern) => {
    const { name, digest } = splitDigest(pattern)
    const isNamed = matcher([name])
    return (change: LockChange) =>
      namesOf(change).some((each) => isNamed(each)) &&
      (digest === undefined || changeDigest(change) === digest)
  })
  return (change) => tests.some((isMeant) => isMeant(change))
}

/** `weather.get_rain@0123456789abcdef` → the name and the digest; anything that is not a digest is part of the name. */
export function splitDigest(pattern: string): { readonly name: string; readonly digest?: string } {
  const [, name, digest] = /^(.+)@([0-9a-f]{16})$/.exec(pattern) ?? []
  return name === undefined || digest === undefined ? { name: pattern } : { name, digest }
}

function namesOf(change: LockChange): string[] {
  const own = 'name' in change ? [change.name] : []
  return [change.server, ...own, ...('tool' in change ? [`${change.server}.${change.tool}`] : [])]
}

/**
 * Approves the changes for which `isMeant` returns true. What a new server offers, or one whose command changed, can
 * only be approved together with that command. Only observed changes are approved. A server that was approved when
 * lockfiles covered only tools is covered as a whole once everything else that it offers is approved, too.
 */
export function approveChanges(
  lockfile: Lockfile,
  observed: ReadonlyMap<string, ObservedServer>,
  isMeant: (change: LockChange) => boolean,
): Approval {
  const servers = new Map(lockfile.servers)
  for (const [name, server] of lockfile.servers)
    if (isToolsOnly(server)) servers.set(name, coverAll(name, server, observed.get(name), isMeant))
  const approved: LockChange[] = []
  for (const change of compareWithLock({ ...lockfile, servers }, observed)) {
    const now = observed.get(change.server)
    if (!now) {
      if (!isMeant(change)) continue
      servers.delete(change.server)
      approved.push(change)
    } else if (change.kind === 'server-added' || change.kind === 'command-changed') {
      const taken = approveServer(change, now, servers.get(change.server), isMeant)
      if (!taken) continue
      servers.set(change.server, taken.server)
      approved.push(change, ...taken.approved)
    } else if (isMeant(change)) {
      const server = servers.get(change.server)
      if (!server) continue
      servers.set(change.server, withChange(server, change, now))
      approved.push(change)
    }
  }
  return { lockfile: { ...lockfile, servers }, approved }
}

/** An approval of tools that also covers the rest, if all of that is meant; otherwise the same approval. */
function coverAll(
  name: string,
  before: LockedServer,
  now: ObservedServer | undefined,
  isMeant: (change: LockChange) => boolean,
): LockedServer {
  if (!now || !ITEM_KINDS.every((kind) => now.items?.has(kind))) return before
  const covering = { ...before, items: NO_ITEMS }
  const changesOf = (server: LockedServer) =>
    compareWithLock({ servers: new Map([[name, server]]) }, new Map([[name, now]]))
  const known = new Set(changesOf(before).map(changeDigest))
  const uncovered = changesOf(covering).filter((change) => !known.has(changeDigest(change)))
  return uncovered.every(isMeant) ? covering : before
}

function approveServer(
  change: LockChange,
  now: ObservedServer,
  before: LockedServer | undefined,
  isMeant: (change: LockChange) => boolean,
): { server: LockedServer; approved: LockChange[] } | undefined {
  if (!now.tools) return undefined
  const parts = { tools: before?.tools ?? new Map(), items: before?.items ?? NO_ITEMS }
  const bare = lockServer(now, parts, before)
  // The command and its program are approved as a whole; only what it offers remains.
  const inside = compareWithLock(
    { servers: new Map([[change.server, bare]]) },
    new Map([[change.server, { ...now, program: undefined }]]),
  )
  const approved = inside.filter(isMeant)
  if (!isMeant(change) && approved.length === 0) return undefined
  const server = approved.reduce((locked, each) => withChange(locked, each, now), bare)
  return { server, approved }
}

/** A server's approval with one change of what it offers. */
function withChange(server: LockedServer, change: LockChange, now: ObservedServer): LockedServer {
  if ('tool' in change)
    return { ...server, tools: replaced(server.tools, change.tool, toolsByName(now.tools ?? [])) }
  if (!('item' in change) || !server.items) return server
  const { list, item } = change
  const listed = itemsByKey(now.items?.get(list) ?? [])
  return { ...server, items: { ...server.items, [list]: replaced(server.items[list], item, listed) } }
}

function replaced<Entry>(
  before: ReadonlyMap<string, Entry>,
  key: string,
  listed: ReadonlyMap<string, Entry>,
): ReadonlyMap<string, Entry> {
  const entries = new Map(before)
  const entry = listed.get(key)
  if (entry) entries.set(key, entry)
  else entries.delete(key)
  return entries
}
