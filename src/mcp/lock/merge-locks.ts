import type { LockedServer, Lockfile } from './lockfile.ts'

/**
 * Applies the differences between `before` and `after` to `current`, server by server and tool by tool, so that
 * concurrent approvals are all kept. Where both changed the same tool, `after` wins.
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
  const tools = new Map(current?.tools)
  for (const name of new Set([...(before?.tools.keys() ?? []), ...after.tools.keys()])) {
    const tool = after.tools.get(name)
    if (tool?.hash === before?.tools.get(name)?.hash) continue
    if (tool) tools.set(name, tool)
    else tools.delete(name)
  }
  // The command is approved as a whole, including salt and digests.
  const isSameCommand = before?.hash === after.hash && before.runs === after.runs
  return { ...(isSameCommand && current ? current : after), tools }
}
