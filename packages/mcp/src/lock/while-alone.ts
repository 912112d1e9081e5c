import { randomUUID } from 'node:crypto'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Head, ValueFolder } from '../stores/files/value-folder.ts'

const WAIT_MS = 10_000
const LONGEST_PAUSE_MS = 50
/** Writing a lockfile never takes longer; a process that takes longer has died. */
const LEASE_MS = 5_000

/**
 * Runs `work` while no other process or call does so for the same file. A folder beside the file records which process
 * is working, and until when: a process that died delays the others by at most 5 s. Only one of the waiting processes
 * can take over, because a `ValueFolder` lets only one replace a value that all have seen. `work` receives a function
 * that throws if another process has taken over; call it right before writing. Throws after waiting for 10 s.
 */
export async function whileAlone<Result>(
  path: string,
  work: (checkAlone: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  // A `ValueFolder` would create it.
  await access(dirname(path))
  const folder = new ValueFolder(`${path}.writing`, dirname(path))
  const head = await takeLease(folder)
  try {
    return await work(async () => {
      if ((await folder.head())?.name !== head.name)
        throw new Error('it took too long, and another process is writing it now; try again')
    })
  } finally {
    await folder.remove(head)
  }
}

async function takeLease(folder: ValueFolder): Promise<Head> {
  const token = Buffer.from(randomUUID())
  const end = Date.now() + WAIT_MS
  for (;;) {
    const seen = await folder.head()
    const isFree = seen === undefined || seen.expiresAt <= Date.now()
    if (isFree && (await folder.replace(seen, token, Date.now() + LEASE_MS))) {
      const taken = await folder.read()
      if (taken?.content && token.equals(taken.content)) return taken.head
    }
    if (Date.now() > end) throw new Error(`another process is writing it; if not, remove ${folder.path}`)
    await sleep(Math.random() * LONGEST_PAUSE_MS)
  }
}
