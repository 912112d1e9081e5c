import { randomUUID } from 'node:crypto'
import * as platform from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Disk } from './disk.ts'
import { errnoOf, unlessMissing } from './errno.ts'
import { makeFolder } from './make-folder.ts'
import { writeNew } from './write-whole.ts'

/** Names the current value file. `name` differs after every change, and is never reused. */
export interface Head {
  readonly name: string
  readonly valueFile: string
  readonly expiresAt: number
}

const PRIVATE_FILE = { mode: 0o600 }
const PRIVATE_FOLDER = { mode: 0o700 }

/**
 * One value in a separate folder, which any number of processes may replace at the same time, without a lock. The
 * folder has a value file and a *head*: an empty file whose name identifies the current value file. To replace the
 * value, a process writes a new value file and then renames the head that it has seen. A head can be renamed only once,
 * so of several processes that saw the same head one succeeds; the others find it gone and retry with the new value. A
 * folder is moved into place complete, and removed only when it is empty. A process that is killed at any of these
 * steps leaves either the old head or the new one, and perhaps an unused value file.
 */
export class ValueFolder {
  readonly path: string
  readonly #drafts: string
  readonly #disk: Disk

  /** `drafts` is a folder on the same disk. */
  constructor(path: string, drafts: string, disk: Disk = platform) {
    this.path = path
    this.#drafts = drafts
    this.#disk = disk
  }

  /** The current head; undefined if there is no value. */
  async head(): Promise<Head | undefined> {
    return (await this.#look()).head
  }

  /** The current head and the content of its value file; the content is undefined if the file is missing. */
  async read(): Promise<{ head: Head; content: Uint8Array | undefined } | undefined> {
    for (;;) {
      const head = await this.head()
      if (head === undefined) return undefined
      const content = await unlessMissing(this.#disk.readFile(this.#file(head.valueFile)))
      if (content !== undefined) return { head, content }
      // Another process may have replaced the value in between, and removed this file: then the head has changed too.
      if (await this.#isThere(head.name)) return { head, content: undefined }
    }
  }

  /** Replaces the value of the head `seen`, or adds one if there was none; false if another process was first. */
  async replace(seen: Head | undefined, content: Uint8Array, expiresAt: number): Promise<boolean> {
    return seen === undefined
      ? await this.#create(content, expiresAt)
      : await this.#swap(seen, content, expiresAt)
  }

  /** Removes the value of the head `seen`; false if another process has changed it. */
  async remove(seen: Head): Promise<boolean> {
    if (!(await didExist(this.#disk.unlink(this.#file(seen.name))))) return false
    await this.#discard([seen.valueFile])
    await ignoreFailure(this.#disk.rmdir(this.path))
    return true
  }

  /** Removes leftovers of killed processes that are older than the given time, in milliseconds. */
  async tidy(before: number): Promise<void> {
    const { head, names } = await this.#look()
    if (head === undefined) return await this.#clear()
    const others = names.filter((name) => name !== head.name && name !== head.valueFile)
    const old = await Promise.all(others.map((name) => this.#isOlder(name, before)))
    const leftovers = others.filter((_, index) => old[index])
    if (leftovers.length === 0) return
    // A process that wrote one of these may only be slow. Under a new head its change can no longer succeed.
    const fenced = headName(head.valueFile, head.expiresAt)
    if (await didExist(this.#disk.rename(this.#file(head.name), this.#file(fenced))))
      await this.#discard(leftovers)
  }

  async #create(content: Uint8Array, expiresAt: number): Promise<boolean> {
    const draft = join(this.#drafts, randomUUID())
    const valueFile = newValueFile()
    await makeFolder(draft, PRIVATE_FOLDER, this.#disk)
    try {
      await this.#disk.writeFile(join(draft, headName(valueFile, expiresAt)), '', PRIVATE_FILE)
      await writeNew(join(draft, valueFile), content, PRIVATE_FILE, this.#disk)
      await makeFolder(dirname(this.path), PRIVATE_FOLDER, this.#disk)
      await this.#disk.rename(draft, this.path)
      return true
    } catch (error) {
      await this.#disk.rm(draft, { recursive: true, force: true })
      if (!OCCUPIED.has(errnoOf(error))) throw error
      await this.#clear()
      return false
    }
  }

  async #swap(seen: Head, content: Uint8Array, expiresAt: number): Promise<boolean> {
    const valueFile = newValueFile()
    // The folder disappears when another process removes the value.
    if (!(await didExist(writeNew(this.#file(valueFile), content, PRIVATE_FILE, this.#disk)))) return false
    const next = this.#file(headName(valueFile, expiresAt))
    if (await didExist(this.#disk.rename(this.#file(seen.name), next))) {
      await this.#discard([seen.valueFile])
      return true
    }
    await this.#discard([valueFile])
    return false
  }

  /** Empties and removes a folder without a head: its value files can no longer become current. */
  async #clear(): Promise<void> {
    const { head, names } = await this.#look()
    if (head !== undefined) return
    await this.#discard(names)
    await ignoreFailure(this.#disk.rmdir(this.path))
  }

  async #look(): Promise<{ head: Head | undefined; names: readonly string[] }> {
    let before: string | undefined
    for (;;) {
      const names = (await unlessMissing(this.#disk.readdir(this.path))) ?? []
      const head = names.map(parseHead).find((parsed) => parsed !== undefined)
      // A listing during a rename may show neither the old name nor the new one: only two equal listings are trusted.
      const listing = names.toSorted().join('/')
      if (head !== undefined || listing === '' || listing === before) return { head, names }
      before = listing
    }
  }

  async #isOlder(name: string, time: number): Promise<boolean> {
    const found = await unlessMissing(this.#disk.stat(this.#file(name)))
    return found !== undefined && found.mtimeMs < time
  }

  async #isThere(name: string): Promise<boolean> {
    return await didExist(this.#disk.access(this.#file(name)))
  }

  /** The change is made by now: a file that cannot be removed is left to `tidy`. */
  async #discard(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => ignoreFailure(this.#disk.unlink(this.#file(name)))))
  }

  #file(name: string): string {
    return join(this.path, name)
  }
}

/** How a rename onto a non-empty folder fails; on Windows, onto any folder. */
const OCCUPIED: ReadonlySet<string | undefined> = new Set(
  process.platform === 'win32' ? ['EEXIST', 'EPERM', 'EACCES'] : ['ENOTEMPTY', 'EEXIST'],
)

function newValueFile(): string {
  return `value.${randomUUID()}`
}

function headName(valueFile: string, expiresAt: number): string {
  const expiry = Number.isFinite(expiresAt) ? Math.ceil(expiresAt) : 'never'
  return `head.${randomUUID()}.${expiry}.${valueFile}`
}

function parseHead(name: string): Head | undefined {
  const [, expiry, valueFile] = /^head\.[^.]+\.(never|\d+)\.(value\.[^.]+)$/.exec(basename(name)) ?? []
  if (expiry === undefined || valueFile === undefined) return undefined
  return { name, valueFile, expiresAt: expiry === 'never' ? Number.POSITIVE_INFINITY : Number(expiry) }
}

/** False if its file does not exist. */
async function didExist(work: Promise<void>): Promise<boolean> {
  return (await unlessMissing(work.then(() => true))) ?? false
}

async function ignoreFailure(work: Promise<void>): Promise<void> {
  await work.catch(() => {})
}
