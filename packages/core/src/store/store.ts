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

export interface WriteOptions {
  /** Milliseconds until the value expires, more than 0. Without it the value never expires. */
  readonly ttlMs?: number | undefined
}

/**
 * Keeps data that must outlive a process or be visible to another replica. Keys are texts of 1 to 512 characters; start
 * yours with a prefix, such as `session:`. Returned values are copies: changing one does not change the store. Every
 * method rejects with `config-invalid` for an invalid key or value, and with `store-unavailable` if the store cannot be
 * reached or is closed.
 */
export interface Store {
  /** Returns the value, or undefined if there is none or it has expired. */
  get(key: string): Promise<StoredValue | undefined>
  /** Writes the value atomically, with a new expiry. */
  set(key: string, value: StoredValue, options?: WriteOptions): Promise<void>
  /**
   * Replaces a value with the result of `change`, atomically: concurrent updates, by any process, are never lost.
   * `change` must be pure and synchronous, and may run more than once. If it returns undefined the key is deleted. If
   * it returns the very value it was given, nothing is written and the expiry stays; any other value gets a new expiry,
   * as with `set`. If it throws, the error reaches the caller and nothing is written. Returns the new value.
   */
  update(key: string, change: Change, options?: WriteOptions): Promise<StoredValue | undefined>
  /** Removes a value; does nothing if there is none. */
  delete(key: string): Promise<void>
  /** Waits for pending operations, then releases files and connections. Closing twice has no effect. */
  close(): Promise<void>
}

/**
 * Returns the new value for the current one: without side effects, synchronously, and without changing its argument.
 */
export type Change = (current: StoredValue | undefined) => StoredValue | undefined
