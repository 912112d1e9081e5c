/** Stores for state that must outlive a process, and the functions to write your own. */
export { type StoreSpillOptions, storeSpill } from '../call/store-spill.ts'
export {
  type Announcement,
  type AnnouncementBoard,
  type AnnouncementBoardOptions,
  type AnnouncementListener,
  type Announcements,
  announcementBoard,
  MAX_ANNOUNCEMENT_CHARS,
} from './announcements.ts'
export { type FileStoreOptions, fileStore } from './file-store.ts'
export type { Disk, DiskFile } from './files/disk.ts'
export { writeWhole } from './files/write-whole.ts'
export { type MemoryStoreOptions, memoryStore } from './memory-store.ts'
export type { Change, JsonValue, Store, StoredValue, WriteOptions } from './store.ts'
export { checkKey, decodeValue, type EncodedValue, encodeValue, expiryOf } from './stored-value.ts'
export {
  type StoreCount,
  type StoreHealth,
  type WatchedStore,
  type WatchStoreOptions,
  watchStore,
} from './watched-store.ts'
