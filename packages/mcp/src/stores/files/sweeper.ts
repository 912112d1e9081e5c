import { join } from 'node:path'
import type { Schedule } from '@toolcrib/core'
import type { Disk } from './disk.ts'
import { unlessMissing } from './errno.ts'
import { ValueFolder } from './value-folder.ts'

/** The number of folders that the value folders are spread over; each sweep covers one. */
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
 * Removes expired values and leftovers of killed processes in the background, one part of the directory at a time, so
 * that nobody waits for a long listing. It starts at a random part, so that many short processes clean up like one long
 * one.
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

  /** Starts sweeping, unless it already does. */
  start(): void {
    if (this.#stopTimer === undefined && !this.#isStopped) this.#sleep()
  }

  /** Stops, and waits for a running sweep. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopTimer?.()
    await this.#sweeping
  }

  #sleep(): void {
    this.#stopTimer = this.#options.schedule(SWEEP_EVERY_MS, () => {
      // A directory that cannot be read now is tried again; users of the store get the reason.
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
    // Renamed first: if its owner is only slow, it must not move a half-emptied folder into place.
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
