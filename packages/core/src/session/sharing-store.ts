import { hashText, isRecord } from '../json.ts'
import type { Change, Store, StoredValue, WriteOptions } from '../store/store.ts'
import type { ToolDefinition } from '../tool.ts'
import {
  areDefinitions,
  type Definitions,
  hashesIn,
  type ListHash,
  type SharedDefinitions,
} from './shared-definitions.ts'

/** How long a list is kept in a store after its last use. */
const KEPT_MS = 90 * 24 * 3_600_000
/** How often its use is written down. A store that lost its data has the list again by then. */
const RENEWED_MS = 3_600_000

/** A store whose values contain whole lists for those who use it, and hashes of them where they are kept. */
export class SharingStore implements Store {
  readonly #store: Store
  readonly #definitions: SharedDefinitions
  readonly #now: () => number
  /** When each list and part was last written here, by key. */
  readonly #written = new Map<string, number>()
  readonly #writing = new WeakMap<Definitions, Promise<void>>()

  constructor(store: Store, definitions: SharedDefinitions, now: () => number) {
    this.#store = store
    this.#definitions = definitions
    this.#now = now
  }

  async get(key: string): Promise<StoredValue | undefined> {
    return this.complete(await this.#store.get(key))
  }

  /** Returns a value with its lists, as far as they are known here or kept in the store, and keeps them longer. */
  async complete<Value>(value: Value): Promise<Value> {
    const lists = await this.#load(hashesIn(value))
    const whole = this.#definitions.lengthen(value)
    for (const list of lists) await this.#keep(list)
    return whole
  }

  /** The change is applied only when all lists are here that the stored value refers to, and all are kept that the new one does. */
  async update(key: string, change: Change, options?: WriteOptions): Promise<StoredValue | undefined> {
    // What was loaded must stay known until the store has applied the change.
    const held: Definitions[] = []
    const loaded = new Set<string>()
    const checked = new Set<Definitions>()
    for (;;) {
      let unknown: readonly ListHash[] = []
      let unkept: Definitions[] = []
      const result = await this.#store.update(
        key,
        (stored) => {
          const whole = this.#definitions.lengthen(stored)
          unknown = hashesIn(whole).filter((hash) => !loaded.has(JSON.stringify(hash)))
          unkept = []
          if (unknown.length > 0) return stored
          const changed = change(whole)
          if (changed === whole) return stored
          if (!isRecord(changed)) return changed
          const lists: Definitions[] = []
          const short = this.#definitions.shorten(changed, lists)
          // Where a session is new, the store may have lost its data.
          unkept = lists.filter(
            (list) => !checked.has(list) && (stored === undefined || !this.#isWritten(this.#keyOf(list))),
          )
          return unkept.length > 0 ? stored : (short as StoredValue)
        },
        options,
      )
      if (unknown.length === 0 && unkept.length === 0) return this.#definitions.lengthen(result)
      for (const hash of unknown) loaded.add(JSON.stringify(hash))
      held.push(...(await this.#load(unknown)))
      for (const list of unkept) {
        const listKey = this.#keyOf(list)
        if (listKey !== undefined && (await this.#store.get(listKey)) === undefined) this.#written.clear()
        await this.#keep(list)
        checked.add(list)
      }
    }
  }

  set(key: string, value: StoredValue, options?: WriteOptions): Promise<void> {
    return this.#store.set(key, value, options)
  }

  delete(key: string): Promise<void> {
    return this.#store.delete(key)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** Undefined before its parts were first written or compared. */
  #keyOf(list: Definitions): string | undefined {
    const sha256 = this.#definitions.digestOf(list)
    return sha256 === undefined ? undefined : listKey(sha256)
  }

  #isWritten(key: string | undefined): boolean {
    const at = key === undefined ? undefined : this.#written.get(key)
    return at !== undefined && this.#now() - at < RENEWED_MS
  }

  /** Writes a list, unless it was written lately: once for all sessions that need it at the same time. */
  #keep(list: Definitions): Promise<void> {
    if (this.#isWritten(this.#keyOf(list))) return Promise.resolve()
    const writing =
      this.#writing.get(list) ?? this.#writeParts(list).finally(() => void this.#writing.delete(list))
    this.#writing.set(list, writing)
    return writing
  }

  async #writeParts(list: Definitions): Promise<void> {
    const parts = await this.#digest(list)
    // Definitions are JSON by construction, but their type has optional fields, which JSON does not.
    for (const { part, sha256 } of parts) await this.#write(partKey(sha256), part as unknown as StoredValue)
    const key = this.#keyOf(list)
    if (key !== undefined)
      await this.#write(
        key,
        parts.map(({ sha256 }) => sha256),
      )
  }

  /** Computes the SHA-256 of a list from those of its parts, which it returns. */
  async #digest(
    list: Definitions,
  ): Promise<readonly { readonly sha256: string; readonly part: Definitions }[]> {
    const parts = []
    for (const part of partsOf(list)) parts.push({ part, sha256: await sha256Of(JSON.stringify(part)) })
    this.#definitions.noteDigest(list, await sha256Of(parts.map(({ sha256 }) => sha256).join(' ')))
    return parts
  }

  async #write(key: string, value: StoredValue): Promise<void> {
    if (this.#isWritten(key)) return
    await this.#store.set(key, value, { ttlMs: KEPT_MS })
    for (const [old, at] of this.#written) if (this.#now() - at >= RENEWED_MS) this.#written.delete(old)
    this.#written.set(key, this.#now())
  }

  /** Returns lists by hash: those that are known here, or else in the store. Those that are gone or damaged are left out. */
  async #load(hashes: readonly ListHash[]): Promise<readonly Definitions[]> {
    const lists = await Promise.all(hashes.map((hash) => this.#loadList(hash)))
    return lists.filter((list) => list !== undefined)
  }

  async #loadList(hash: ListHash): Promise<Definitions | undefined> {
    const alike = this.#definitions.find({ shared: hash.shared })
    if (alike && this.#keyOf(alike) === undefined) await this.#digest(alike)
    const known = this.#definitions.find(hash)
    if (known || hash.sha256 === undefined) return known
    const parts = await this.#store.get(listKey(hash.sha256))
    if (!Array.isArray(parts)) return undefined
    const loaded = await Promise.all(parts.map((part) => this.#store.get(partKey(String(part)))))
    const list = Object.freeze(loaded.flat())
    if (!areDefinitions(list)) return undefined
    await this.#digest(list)
    this.#definitions.note(list)
    return this.#definitions.find(hash)
  }
}

function listKey(hash: string): string {
  return `sent-tools:${hash}`
}

function partKey(hash: string): string {
  return `tools:${hash}`
}

/** Divides a list where a server begins; which ones do depends on their names alone, so that most parts stay when one changes. */
function partsOf(list: Definitions): readonly Definitions[] {
  const parts: ToolDefinition[][] = []
  let last: string | undefined
  for (const definition of list) {
    const server = /^mcp__.+?__/.exec(definition.name)?.[0] ?? ''
    const begins = parts.length === 0 || (server !== last && /[0-3]$/.test(hashText(server)))
    if (begins) parts.push([])
    parts.at(-1)?.push(definition)
    last = server
  }
  return parts
}

/** The SHA-256 of a text in hexadecimal digits. */
async function sha256Of(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
