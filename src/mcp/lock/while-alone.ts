import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const WAIT_MS = 10_000
const LONGEST_PAUSE_MS = 50
/** Writing a lockfile never takes longer; a process that takes longer has died. */
const STALE_AFTER_MS = 5_000

/**
 * Runs `work` while no other process or call does so for the same file, using a marker file beside it that only one
 * can create. A marker left by a dead process is removed after 5 s. Throws after waiting for 10 s.
 */
export async function whileAlone<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const marker = `${path}.writing`
  const token = await createMarker(marker)
  try {
    return await work()
  } finally {
    // Remove the marker only if it is still ours: another process may have considered us dead.
    if ((await readFile(marker, 'utf8').catch(() => undefined)) === token) await rm(marker, { force: true })
  }
}

async function createMarker(marker: string): Promise<string> {
  const token = randomUUID()
  const end = Date.now() + WAIT_MS
  for (;;) {
    try {
      await writeFile(marker, token, { flag: 'wx' })
      return token
    } catch (error) {
      if (!isExisting(error)) throw error
    }
    await removeStale(marker)
    if (Date.now() > end) throw new Error(`another process is writing it; if not, remove ${marker}`)
    await sleep(Math.random() * LONGEST_PAUSE_MS)
  }
}

async function removeStale(marker: string): Promise<void> {
  const seen = await stat(marker).catch(() => undefined)
  if (!seen || Date.now() - seen.mtimeMs < STALE_AFTER_MS) return
  const aside = `${marker}.${randomUUID()}`
  await rename(marker, aside).catch(() => {})
  const moved = await stat(aside).catch(() => undefined)
  // Another waiter may have replaced it in between; put that one back.
  if (moved && moved.mtimeMs !== seen.mtimeMs) await link(aside, marker).catch(() => {})
  await rm(aside, { force: true })
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
