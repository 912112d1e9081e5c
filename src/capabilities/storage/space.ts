/** The raw values of one space, in memory or in a directory. `StorageAccess` adds the limits. */
export interface StorageSpace {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  keys(): Promise<string[]>
  count(): Promise<number>
}
