import {
  anyFunction,
  checkOptions,
  either,
  type OptionRules,
  objectWith,
  wholeNumber,
} from '../check-options.ts'
import { type Clock, readClock } from '../time.ts'

/** Keeps the full text of a trimmed result under a handle. A session can read only its own entries; entries expire. */
export interface Spill {
  put(sessionId: string, text: string): string | Promise<string>
  get(sessionId: string, handle: string): string | undefined | Promise<string | undefined>
}

export interface MemorySpillOptions {
  /** Texts kept at once, over all sessions; 200. */
  readonly maxEntries?: number
  /** Characters kept at once; 20 million. A longer text is not stored. */
  readonly maxChars?: number
  /** How long a text is kept; 30 minutes. */
  readonly ttlMs?: number
  /** The clock; `Date`. */
  readonly clock?: Clock
  /** Returns numbers from 0 to 1; `Math.random`. Makes the handles differ after a restart. */
  readonly random?: () => number
}

/**
 * A spill in memory. When it is full, the oldest texts are removed first. Throws `config-invalid` for an unknown
 * option.
 */
export function memorySpill(options: MemorySpillOptions = {}): Spill {
  checkOptions<MemorySpillOptions>('memorySpill()', options, RULES)
  const { maxEntries = 200, maxChars = 20_000_000, ttlMs = 30 * 60_000 } = options
  const { clock = { now: () => Date.now() }, random = Math.random } = options
  const now = readClock(clock)
  const run = Math.floor(random() * 36 ** 4)
    .toString(36)
    .padStart(4, '0')
  const entries = new Map<string, { sessionId: string; text: string; expiresAt: number }>()
  let chars = 0
  let count = 0

  function remove(handle: string): void {
    chars -= entries.get(handle)?.text.length ?? 0
    entries.delete(handle)
  }

  // Entries are in order of age and all have the same lifetime, so expired ones are at the front.
  function makeRoom(): void {
    for (const [handle, { expiresAt }] of entries) {
      const isFull = entries.size > maxEntries || chars > maxChars
      if (!isFull && expiresAt > now()) return
      remove(handle)
    }
  }

  return {
    put(sessionId, text) {
      if (text.length > maxChars) throw new RangeError(`the text has more than ${maxChars} characters`)
      const handle = `r${++count}_${run}`
      entries.set(handle, { sessionId, text, expiresAt: now() + ttlMs })
      chars += text.length
      makeRoom()
      return handle
    },
    get(sessionId, handle) {
      makeRoom()
      const entry = entries.get(handle)
      return entry?.sessionId === sessionId ? entry.text : undefined
    },
  }
}

const RULES: OptionRules<MemorySpillOptions> = {
  maxEntries: wholeNumber({ from: 1 }),
  maxChars: wholeNumber({ from: 1 }),
  ttlMs: wholeNumber({ from: 1 }),
  clock: either(anyFunction, objectWith('now')),
  random: anyFunction,
}
