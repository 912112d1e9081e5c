import { anyFunction, checkOptions, type OptionRules, wholeNumber } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { Store } from '../store/store.ts'
import type { Spill } from './spill.ts'

export interface StoreSpillOptions {
  /** How long a text is kept; 30 minutes by default. */
  readonly ttlMs?: number
  /** The longest text that is stored, in characters; 20 million by default. A longer one is refused. */
  readonly maxChars?: number
  /** Returns the part of a handle that cannot be guessed; `crypto.randomUUID` by default. */
  readonly newId?: () => string
}

/**
 * A spill in a store: the full text of a trimmed result can be read after a restart, and at any replica that uses the
 * same store. A session can read only its own entries.
 */
export function storeSpill(store: Store, options: StoreSpillOptions = {}): Spill {
  checkOptions('storeSpill()', options, OPTIONS)
  const { ttlMs = 30 * 60_000, maxChars = 20_000_000, newId = () => crypto.randomUUID() } = options
  return {
    async put(sessionId, text) {
      if (text.length > maxChars) throw new RangeError(`the text has more than ${maxChars} characters`)
      // Short, since the model repeats it: 48 random bits, and a session can read only its own handles.
      const handle = `r_${newId().replaceAll('-', '').slice(0, 12)}`
      await store.set(PREFIX + handle, { sessionId, text }, { ttlMs })
      return handle
    },
    async get(sessionId, handle) {
      // A model may invent a handle: only texts in the form of a handle are looked up.
      if (!/^r_\w{1,12}$/.test(handle)) return undefined
      const entry = await store.get(PREFIX + handle)
      if (!isRecord(entry) || entry.sessionId !== sessionId) return undefined
      return typeof entry.text === 'string' ? entry.text : undefined
    },
  }
}

const OPTIONS: OptionRules<StoreSpillOptions> = {
  ttlMs: wholeNumber({ from: 1 }),
  maxChars: wholeNumber({ from: 1 }),
  newId: anyFunction,
}

const PREFIX = 'spill:'
