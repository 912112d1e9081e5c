import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** How often to check whether a terminating group is gone. */
const POLL_MS = 20

/**
 * Ends every process in a child's process group, including grandchildren: SIGTERM first, then SIGKILL after the grace
 * period. Resolves once the group is gone. The child must have been started with `detached`.
 */
export async function endGroup(child: ChildProcess, graceMs: number): Promise<void> {
  if (!signalGroup(child, 'SIGTERM')) return
  for (let waited = 0; waited < graceMs; waited += POLL_MS) {
    await sleep(POLL_MS)
    if (!(await isGroupRunning(child))) break
  }
  // Sent even when the group looks empty: a process that was just forking may have been missed.
  signalGroup(child, 'SIGKILL')
}

/** Sends a signal to the whole group; returns false if the group no longer exists. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false
  // Windows has no process groups to signal.
  if (process.platform === 'win32') return child.exitCode === null && child.kill(signal)
  try {
    process.kill(-child.pid, signal)
    return true
  } catch {
    return false
  }
}

/**
 * Whether any process of the group still runs. Zombies do not count: in a container without an init process, nothing
 * reaps orphans.
 */
async function isGroupRunning(child: ChildProcess): Promise<boolean> {
  if (!signalGroup(child, 0)) return false
  if (process.platform !== 'linux') return true
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue
    const line = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    // The process name is in parentheses and may itself contain parentheses; plain fields follow it.
    const [state, , group] = line.slice(line.lastIndexOf(')') + 2).split(' ')
    if (Number(group) === child.pid && state !== 'Z' && state !== 'X') return true
  }
  return false
}
