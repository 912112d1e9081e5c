/** The stores of `@toolcrib/core/stores`, and `fileStore()`. For Node. */
export * from '@toolcrib/core/stores'
export { type FileStoreOptions, fileStore } from './file-store.ts'
export type { Disk, DiskFile } from './files/disk.ts'
export { makeFolder } from './files/make-folder.ts'
export { writeWhole } from './files/write-whole.ts'
