import { dirname, join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import type { Config } from '../config/load-config.ts'
import { lockedItems } from './locked-item.ts'
import type { LockedServer, Lockfile } from './lockfile.ts'
import { readLockfile, updateLockfile } from './lockfile-file.ts'

/** The path of a lockfile, and the servers that it applies to. */
export interface LockPlace {
  readonly path: string
  readonly servers: ReadonlySet<string>
  /**
   * Servers that its config defines but that are not in use: disabled, or defined by another file now. They stay
   * approved.
   */
  readonly resting: ReadonlySet<string>
}

/** A lockfile with its place. */
export interface LockLayer extends LockPlace {
  /** undefined when it does not exist or is damaged. */
  readonly lockfile: Lockfile | undefined
  /** What is wrong with it. */
  readonly damage?: ToolcribError
}

/**
 * Returns the lockfiles of a config in ascending order of precedence. Each server is checked against `toolcrib.lock`
 * beside the file that defines it, so that a project neither approves nor drops the user's servers. With a `path`,
 * all servers are checked against that file.
 */
export function lockPlaces(config: Config, { cwd, path }: { cwd: string; path?: string }): LockPlace[] {
  const inUse = Object.keys(config.servers)
  const layers = config.layers ?? [{ file: join(cwd, 'toolcrib.toml'), servers: inUse }]
  const ownerOf = new Map<string, string>()
  const named = new Map<string, string[]>()
  for (const { file, servers } of layers) {
    const lock = path ?? join(dirname(file), 'toolcrib.lock')
    named.set(lock, [...(named.get(lock) ?? []), ...servers])
    for (const server of servers) ownerOf.set(server, lock)
  }
  return [...named].map(([lock, names]) => {
    const isOwn = (name: string) => ownerOf.get(name) === lock && Object.hasOwn(config.servers, name)
    return {
      path: lock,
      servers: new Set(names.filter(isOwn)),
      resting: new Set(names.filter((name) => !isOwn(name))),
    }
  })
}

/** Reads lockfiles. A damaged one sets `damage` of its layer; callers must check it. */
export function readLocks(places: readonly LockPlace[]): Promise<LockLayer[]> {
  return Promise.all(
    places.map(async (place) => {
      try {
        return { ...place, lockfile: await readLockfile(place.path) }
      } catch (damage) {
        if (!(damage instanceof ToolcribError)) throw damage
        return { ...place, lockfile: undefined, damage }
      }
    }),
  )
}

/**
 * Merges all lockfiles into the one that servers are checked against; undefined when there is none. Servers of a
 * config file without a lockfile are not checked, or must not start with `isRequired`. Throws the `damage` of a
 * damaged lockfile.
 */
export function lockInForce(
  layers: readonly LockLayer[],
  { isRequired = false }: { readonly isRequired?: boolean } = {},
): Lockfile | undefined {
  for (const { damage } of layers) if (damage) throw damage
  if (!isRequired && layers.every(({ lockfile }) => lockfile === undefined)) return undefined
  const owned = new Set(layers.flatMap(({ servers }) => [...servers]))
  const servers = layers.flatMap((layer) =>
    [...(layer.lockfile?.servers ?? [])].filter(
      ([name]) => layer.servers.has(name) || isGone(name, layer, owned),
    ),
  )
  const unlocked = layers.flatMap(({ lockfile, path, servers: own }) =>
    lockfile ? [] : [...own].map((name) => [name, path] as const),
  )
  if (unlocked.length === 0) return { servers: new Map(servers) }
  return {
    servers: new Map(servers),
    ...(isRequired ? { missing: new Map(unlocked) } : { exempt: new Set(unlocked.map(([name]) => name)) }),
  }
}

/**
 * Writes approvals back to the lockfile that each server belongs to; unchanged lockfiles are not written. Only the
 * difference is applied to the current file, so approvals by other processes since the layers were read are kept.
 * Returns the paths that were written. Throws `config-invalid` for a file that cannot be read or written.
 */
export async function writeLocks(layers: readonly LockLayer[], approved: Lockfile): Promise<string[]> {
  const owned = new Set(layers.flatMap(({ servers }) => [...servers]))
  const written: string[] = []
  for (const layer of layers) {
    const { lockfile, path } = layer
    if (!lockfile) continue
    const servers = new Map<string, LockedServer>()
    for (const [name, server] of lockfile.servers)
      if (!isGone(name, layer, owned) || approved.servers.has(name)) servers.set(name, server)
    for (const name of layer.servers) {
      const server = approved.servers.get(name)
      if (server) servers.set(name, server)
      else servers.delete(name)
    }
    if (isSame(lockfile.servers, servers)) continue
    await updateLockfile(path, (current) => applyDifference(lockfile, { servers }, current ?? lockfile))
    written.push(path)
  }
  return written
}

/** Whether a server is in a lockfile but no longer in any config. */
function isGone(name: string, { servers, resting }: LockPlace, owned: ReadonlySet<string>): boolean {
  return !servers.has(name) && !resting.has(name) && !owned.has(name)
}

function isSame(
  before: ReadonlyMap<string, LockedServer>,
  after: ReadonlyMap<string, LockedServer>,
): boolean {
  return before.size === after.size && [...after].every(([name, server]) => before.get(name) === server)
}

/**
 * Applies the differences between `before` and `after` to `current`, server by server and tool by tool, so that
 * concurrent approvals are all kept. Where both changed the same tool or prompt, `after` wins.
 */
export function applyDifference(before: Lockfile, after: Lockfile, current: Lockfile): Lockfile {
  const servers = new Map(current.servers)
  for (const name of new Set([...before.servers.keys(), ...after.servers.keys()])) {
    const [old, next] = [before.servers.get(name), after.servers.get(name)]
    if (next === old) continue
    if (!next) servers.delete(name)
    else servers.set(name, mergeServer(old, next, servers.get(name)))
  }
  return { ...current, servers }
}

function mergeServer(
  before: LockedServer | undefined,
  after: LockedServer,
  current: LockedServer | undefined,
): LockedServer {
  const tools = mergeEntries(before?.tools, after.tools, current?.tools)
  const items = after.items
    ? lockedItems((kind) => mergeEntries(before?.items?.[kind], after.items?.[kind], current?.items?.[kind]))
    : current?.items
  // The command is approved as a whole, including salt and digests.
  const isSameCommand =
    before?.hash === after.hash && before.runs === after.runs && before.approval === after.approval
  return { ...(isSameCommand && current ? current : after), tools, ...(items ? { items } : {}) }
}

function mergeEntries<Entry extends { readonly hash: string }>(
  before: ReadonlyMap<string, Entry> = new Map(),
  after: ReadonlyMap<string, Entry> = new Map(),
  current: ReadonlyMap<string, Entry> = new Map(),
): ReadonlyMap<string, Entry> {
  const merged = new Map(current)
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const entry = after.get(key)
    if (entry?.hash === before.get(key)?.hash) continue
    if (entry) merged.set(key, entry)
    else merged.delete(key)
  }
  return merged
}
