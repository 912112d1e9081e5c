import { createHash } from 'node:crypto'
import { open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../../stores/files/errno.ts'
import { makeFolder } from '../../stores/files/make-folder.ts'
import { writeWhole } from '../../stores/files/write-whole.ts'
import { inBatches } from '../in-batches.ts'

const SUFFIX = '.entry'
/** Long enough for almost every key. */
const START_BYTES = 2_048

/** The raw values of one space. `StorageAccess` adds the limits. */
export interface StorageSpace {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
  delete(key: string): Promise<void>
  keys(): Promise<string[]>
  count(): Promise<number>
}

/**
 * A space in a directory: a folder with a file per key. A file starts with its key as a line of JSON. Its name is a
 * readable prefix plus a hash, so any key works on any file system, including case-insensitive ones.
 */
export function openSpace(directory: string, name: string): StorageSpace {
  return new DirectorySpace(join(directory, fileName(name)))
}

class DirectorySpace implements StorageSpace {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async get(key: string): Promise<string | undefined> {
    const text = await unlessMissing(readFile(this.#fileOf(key), 'utf8'))
    return text?.slice(text.indexOf('\n') + 1)
  }

  async set(key: string, value: string): Promise<void> {
    await makeFolder(this.#folder, { mode: 0o700 })
    await writeWhole(this.#fileOf(key), `${JSON.stringify(key)}\n${value}`, { mode: 0o600 })
  }

  async delete(key: string): Promise<void> {
    await rm(this.#fileOf(key), { force: true })
  }

  async keys(): Promise<string[]> {
    const entries = await entriesOf(this.#folder)
    const keys = await inBatches(entries, (entry) => readKey(join(this.#folder, entry)))
    return keys.filter((key) => key !== undefined)
  }

  async count(): Promise<number> {
    return (await entriesOf(this.#folder)).length
  }

  #fileOf(key: string): string {
    return join(this.#folder, fileName(key) + SUFFIX)
  }
}

async function entriesOf(folder: string): Promise<string[]> {
  const names = (await unlessMissing(readdir(folder))) ?? []
  return names.filter((name) => name.endsWith(SUFFIX))
}

function fileName(text: string): string {
  const start = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
  return `${start}-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

async function readKey(file: string): Promise<string | undefined> {
  const start = await readStart(file)
  // Keys longer than this are rare enough to read the whole file.
  const text = start?.includes('\n') ? start : await unlessMissing(readFile(file, 'utf8'))
  if (text === undefined) return undefined
  const key: unknown = JSON.parse(text.slice(0, text.indexOf('\n')))
  return typeof key === 'string' ? key : undefined
}

async function readStart(file: string): Promise<string | undefined> {
  const handle = await unlessMissing(open(file))
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
