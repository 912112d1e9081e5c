/** What a store keeps: JSON data, or bytes. */
export type StoredValue = JsonValue | Uint8Array

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined }

export interface WriteOptions {
  /** Milliseconds until the value expires; it never does when absent. */
  readonly ttlMs?: number | undefined
}

/**
 * Keeps what must outlive a process or be seen by another replica. Keys are texts of 1 to 512 characters; whoever uses
 * a store puts a prefix of its own before them, such as `session:`. Values that come back are copies: changing one
 * changes nothing in the store. Every method rejects with `store-unavailable` when the store cannot be reached.
 */
export interface Store {
  /** Returns the value, or undefined when there is none or it has expired. */
  get(key: string): Promise<StoredValue | undefined>
  /** Writes the value whole or not at all, with a new expiry. */
  set(key: string, value: StoredValue, options?: WriteOptions): Promise<void>
  /**
   * Replaces a value by what `change` makes of it, atomically: of many concurrent updates, by any process, none is
   * lost. `change` is pure and synchronous and may run again; undefined deletes the key; the value it was given, returned
   * as it is, writes nothing. What it throws is thrown, and nothing is written. Returns the new value.
   */
  update(key: string, change: Change, options?: WriteOptions): Promise<StoredValue | undefined>
  /** Removes a value; nothing happens when there is none. */
  delete(key: string): Promise<void>
  /** Waits for what is under way and lets go of files and connections. */
  close(): Promise<void>
}

export type Change = (current: StoredValue | undefined) => StoredValue | undefined
