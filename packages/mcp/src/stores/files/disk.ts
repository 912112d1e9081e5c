/**
 * The file system functions that a file store needs; `node:fs/promises` has them. Errors have a `code`, such as
 * `ENOENT`.
 */
export interface Disk {
  access(path: string): Promise<void>
  mkdir(path: string, options: { readonly mode: number }): Promise<unknown>
  /** Creates a file that must not exist yet. */
  open(path: string, flags: 'wx', mode: number): Promise<DiskFile>
  readdir(path: string): Promise<string[]>
  readFile(path: string): Promise<Uint8Array>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  rmdir(path: string): Promise<void>
  stat(path: string): Promise<{ readonly mtimeMs: number }>
  unlink(path: string): Promise<void>
  writeFile(path: string, content: string, options: { readonly mode: number }): Promise<void>
}

/** A file that is open for writing. */
export interface DiskFile {
  chmod(mode: number): Promise<void>
  writeFile(content: string | Uint8Array): Promise<void>
  /** Resolves once the content is on the disk and survives a power failure. */
  sync(): Promise<void>
  close(): Promise<void>
}
