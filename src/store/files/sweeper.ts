import { join } from 'node:path'
import type { Schedule } from '../../time.ts'
import type { Disk } from './disk.ts'
import { unlessMissing } from './errno.ts'
import { ValueFolder } from './value-folder.ts'

/** How many folders the value folders are spread over; each sweep looks at one. */
export const SHARDS = 256
const SWEEP_EVERY_MS = 10_000
/** No write takes this long, unless its process is dead or stopped. */
const LEFTOVER_AFTER_MS = 60 * 60_000

export interface SweeperOptions {
  readonly directory: string
  readonly drafts: string
  readonly now: () => number
  readonly schedule: Schedule
  readonly random: () => number
  readonly disk: Disk
}

/**
 * Removes expired values and what killed processes left behind, in the background: a part of the directory at a time, so
 * that nobody waits for a listing. It starts at a random part, so that many short processes clear up as one long one does.
 */
export class Sweeper {
  readonly #options: SweeperOptions
  #shard: number
  #stopTimer: (() => void) | undefined
  #sweeping: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(options: SweeperOptions) {
    this.#options = options
    this.#shard = Math.floor(options.random() * SHARDS)
  }

  /** Sweeps from now on; does nothing when it does already. */
  start(): void {
    if (this.#stopTimer === undefined && !this.#isStopped) this.#sleep()
  }

  /** Stops, and waits for a sweep under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopTimer?.()
    await this.#sweeping
  }

  #sleep(): void {
    this.#stopTimer = this.#options.schedule(SWEEP_EVERY_MS, () => {
      // A directory that cannot be read now is tried again; whoever uses the store learns the reason.
      this.#sweeping = this.#sweep()
        .catch(() => {})
        .then(() => {
          if (!this.#isStopped) this.#sleep()
        })
    })
  }

  async #sweep(): Promise<void> {
    const { directory, drafts, now, disk } = this.#options
    const shard = join(directory, shardName(this.#shard))
    this.#shard = (this.#shard + 1) % SHARDS
    for (const name of (await unlessMissing(disk.readdir(shard))) ?? []) {
      if (this.#isStopped) return
      const folder = new ValueFolder(join(shard, name), drafts, disk)
      const head = await folder.head()
      if (head !== undefined && head.expiresAt <= now()) await folder.remove(head)
      else await folder.tidy(now() - LEFTOVER_AFTER_MS)
    }
    for (const name of (await unlessMissing(disk.readdir(drafts))) ?? [])
      await this.#removeOld(join(drafts, name))
  }

  async #removeOld(draft: string): Promise<void> {
    const { disk, now } = this.#options
    const found = await unlessMissing(disk.stat(draft))
    if (found === undefined || found.mtimeMs >= now() - LEFTOVER_AFTER_MS) return
    // Renamed first: its owner, if only slow, must not move a half-emptied folder into place.
    const dead = draft.endsWith(DEAD) ? draft : draft + DEAD
    await unlessMissing(disk.rename(draft, dead))
    await disk.rm(dead, { recursive: true, force: true })
  }
}

const DEAD = '.dead'

/** The name of a shard: two hexadecimal digits. */
export function shardName(shard: number): string {
  return shard.toString(16).padStart(2, '0')
}
