/** Where state rests that must outlive a process: the stores that ship with Toolcrib. */
export { type FileStoreOptions, fileStore } from './file-store.ts'
export { type MemoryStoreOptions, memoryStore } from './memory-store.ts'
export type { Change, JsonValue, Store, StoredValue, WriteOptions } from './store.ts'
