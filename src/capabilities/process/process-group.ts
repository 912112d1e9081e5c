import type { ChildProcess } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a group that is going to end is given between two looks. */
const POLL_MS = 20

/**
 * Ends everything in a child's process group, its grandchildren included: first asked (SIGTERM), after the grace
 * period made to (SIGKILL). Returns once the group is gone. The child must have been started `detached`.
 */
export async function endGroup(child: ChildProcess, graceMs: number): Promise<void> {
  if (!signalGroup(child, 'SIGTERM')) return
  for (let waited = 0; waited < graceMs; waited += POLL_MS) {
    await sleep(POLL_MS)
    if (!(await isGroupRunning(child))) break
  }
  // Also when nobody seems to run any more: one who was just being born may have been overlooked.
  signalGroup(child, 'SIGKILL')
}

/** Sends a signal to the whole group; false when nobody is left to receive it. */
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
 * Whether anyone of the group still runs. Those who have ended and were not collected do not count: in a container
 * without an init process nobody ever collects orphans.
 */
async function isGroupRunning(child: ChildProcess): Promise<boolean> {
  if (!signalGroup(child, 0)) return false
  if (process.platform !== 'linux') return true
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue
    const line = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    // The name stands in brackets and may hold anything, brackets too; plain fields follow it.
    const [state, , group] = line.slice(line.lastIndexOf(')') + 2).split(' ')
    if (Number(group) === child.pid && state !== 'Z' && state !== 'X') return true
  }
  return false
}
