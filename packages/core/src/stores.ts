/** Stores for state that must outlive a process, and the functions to write your own. Runs in browsers too. */
export { type StoreSpillOptions, storeSpill } from './call/store-spill.ts'
export {
  type Announcement,
  type AnnouncementBoard,
  type AnnouncementBoardOptions,
  type AnnouncementListener,
  type Announcements,
  announcementBoard,
  MAX_ANNOUNCEMENT_CHARS,
} from './store/announcements.ts'
export { type MemoryStoreOptions, memoryStore } from './store/memory-store.ts'
export type { Change, JsonValue, Store, StoredValue, WriteOptions } from './store/store.ts'
export { checkKey, decodeValue, type EncodedValue, encodeValue, expiryOf } from './store/stored-value.ts'
export {
  type StoreCount,
  type StoreHealth,
  type WatchedStore,
  type WatchStoreOptions,
  watchStore,
} from './store/watched-store.ts'
