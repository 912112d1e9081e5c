import { matcher } from '../../registry/policy.ts'
import { changeDigest, compareWithLock, type LockChange } from './compare.ts'
import {
  type LockedServer,
  type LockedTool,
  type Lockfile,
  lockServer,
  type ObservedServer,
  toolsByName,
} from './lockfile.ts'

/** The approved changes, and the lockfile with them. */
export interface Approval {
  readonly lockfile: Lockfile
  readonly approved: readonly LockChange[]
}

/**
 * Returns a predicate for changes named by names and globs: a server's name matches the server with all its tools; a
 * tool matches by its registered name or as `server.tool`. With a digest after an `@`, only that one change matches.
 */
export function changeMatcher(patterns: readonly string[]): (change: LockChange) => boolean {
  const tests = patterns.map((pattern) => {
    const { name, digest } = splitDigest(pattern)
    const isNamed = matcher([name])
    return (change: LockChange) =>
      namesOf(change).some((each) => isNamed?.(each) === true) &&
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
  return 'tool' in change ? [change.server, change.name, `${change.server}.${change.tool}`] : [change.server]
}

/**
 * Approves the changes for which `isMeant` returns true. Tools of a new server, or of one whose command changed, can
 * only be approved together with that command. Only observed changes are approved.
 */
export function approveChanges(
  lockfile: Lockfile,
  observed: ReadonlyMap<string, ObservedServer>,
  isMeant: (change: LockChange) => boolean,
): Approval {
  const servers = new Map(lockfile.servers)
  const approved: LockChange[] = []
  for (const change of compareWithLock(lockfile, observed)) {
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
      if (server && approveTool(change, now, server, servers)) approved.push(change)
    }
  }
  return { lockfile: { ...lockfile, servers }, approved }
}

function approveServer(
  change: LockChange,
  now: ObservedServer,
  before: LockedServer | undefined,
  isMeant: (change: LockChange) => boolean,
): { server: LockedServer; approved: LockChange[] } | undefined {
  if (!now.tools) return undefined
  const known = new Map(before?.tools)
  const bare = { servers: new Map([[change.server, lockServer(now, known, before)]]) }
  // The command and its program are approved as a whole; only its tools remain.
  const inside = compareWithLock(bare, new Map([[change.server, { ...now, program: undefined }]]))
  const approved = inside.filter(isMeant)
  if (!isMeant(change) && approved.length === 0) return undefined
  const listed = toolsByName(now.tools)
  for (const each of approved) if ('tool' in each) replaceTool(known, each.tool, listed.get(each.tool))
  return { server: lockServer(now, known, before), approved }
}

function approveTool(
  change: LockChange,
  now: ObservedServer,
  server: LockedServer,
  servers: Map<string, LockedServer>,
): boolean {
  if (!('tool' in change) || !now.tools) return false
  const tools = new Map(server.tools)
  replaceTool(tools, change.tool, toolsByName(now.tools).get(change.tool))
  servers.set(change.server, { ...server, tools })
  return true
}

function replaceTool(tools: Map<string, LockedTool>, name: string, tool: LockedTool | undefined): void {
  if (tool) tools.set(name, tool)
  else tools.delete(name)
}
