import type { JournalOptions } from './journal.ts'
import type { Recording } from './replay.ts'
import { openImage, sealImage } from './seal.ts'

/** What scripts did, sealed in a store, for whoever replays them. Not for ever. */
export class Recordings {
  readonly #options: Pick<JournalOptions, 'store' | 'keys' | 'ttlMs'>

  constructor(options: Pick<JournalOptions, 'store' | 'keys' | 'ttlMs'>) {
    this.#options = options
  }

  async keep(run: string, recording: Recording): Promise<void> {
    const { store, keys, ttlMs } = this.#options
    const [key] = keys as readonly [Uint8Array]
    const sealed = await sealImage(Buffer.from(JSON.stringify(recording)), key, keyOf(run))
    await store.set(keyOf(run), sealed, { ttlMs })
  }

  /** Undefined for a run that is not recorded, or with another key. */
  async of(run: string): Promise<Recording | undefined> {
    const { store, keys } = this.#options
    const sealed = await store.get(keyOf(run))
    if (!(sealed instanceof Uint8Array)) return undefined
    const opened = await openImage(sealed, keys, keyOf(run))
    return opened && JSON.parse(Buffer.from(opened).toString())
  }
}

function keyOf(run: string): string {
  return `script-calls:${run}`
}
