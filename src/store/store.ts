/** What a store keeps: JSON data, or bytes. */
export type StoredValue = JsonValue | Uint8Array

/** What JSON can express. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined }

/** Options of one write. */
export interface WriteOptions {
  /** Milliseconds until the value expires, more than 0. Without it the value never expires. */
  readonly ttlMs?: number | undefined
}

/**
 * Keeps what must outlive a process or be seen by another replica. Keys are texts of 1 to 512 characters; whoever uses
 * a store starts them with a prefix of its own, such as `session:`. Values that come back are copies: changing one
 * changes nothing in the store. Every method rejects with `config-invalid` for a key or value that no store takes, and
 * with `store-unavailable` when the store cannot be reached or is closed.
 */
export interface Store {
  /** Returns the value, or undefined when there is none or it has expired. */
  get(key: string): Promise<StoredValue | undefined>
  /** Writes the value whole or not at all, with a new expiry. */
  set(key: string, value: StoredValue, options?: WriteOptions): Promise<void>
  /**
   * Replaces a value by what `change` makes of it, atomically: of many concurrent updates, by any process, none is
   * lost. `change` must be pure and synchronous, and may run more than once. When it returns undefined the key is
   * deleted. When it returns the very value it was given, nothing is written and the expiry stays; any other value gets
   * a new expiry, as with `set`. When it throws, the error reaches the caller and nothing is written. Returns the new
   * value.
   */
  update(key: string, change: Change, options?: WriteOptions): Promise<StoredValue | undefined>
  /** Removes a value; does nothing when there is none. */
  delete(key: string): Promise<void>
  /** Waits for operations under way, then releases files and connections. Closing twice does nothing more. */
  close(): Promise<void>
}

/** Makes the new value from the current one: no side effects, no waiting, the current value left as it is. */
export type Change = (current: StoredValue | undefined) => StoredValue | undefined
