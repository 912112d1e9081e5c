import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileStore } from '../../packages/mcp/src/stores/file-store.ts'

/** Stores bytes under keys. */
export interface Candidate {
  get(key: string): Promise<Uint8Array | undefined>
  set(key: string, value: Uint8Array): Promise<void>
  update(key: string, change: (current: Uint8Array | undefined) => Uint8Array): Promise<void>
  close(): Promise<void>
}

export interface CandidateKind {
  readonly name: string
  /** The packages it needs, installed in the folder named by `CANDIDATES`. */
  readonly packages: readonly string[]
  open(directory: string): Candidate
}

export const KINDS: readonly CandidateKind[] = [
  { name: 'fileStore', packages: [], open: openFileStore },
  { name: 'lockfile', packages: ['proper-lockfile', 'write-file-atomic'], open: openLockedFiles },
  { name: 'lmdb', packages: ['lmdb'], open: openLmdb },
  { name: 'better-sqlite3', packages: ['better-sqlite3'], open: openBetterSqlite },
  { name: 'node:sqlite', packages: [], open: openNodeSqlite },
]

/** Where the packages of the other candidates are installed. */
export const CANDIDATES = process.env.CANDIDATES ?? process.cwd()

function openFileStore(directory: string): Candidate {
  const store = fileStore({ directory })
  return {
    get: async (key) => bytesOf(await store.get(key)),
    set: (key, value) => store.set(key, value),
    update: async (key, change) => void (await store.update(key, (current) => change(bytesOf(current)))),
    close: () => store.close(),
  }
}

function bytesOf(value: unknown): Uint8Array | undefined {
  return value instanceof Uint8Array ? value : undefined
}

interface Lockfile {
  lock(file: string, options: object): Promise<() => Promise<void>>
}
type WriteFileAtomic = (file: string, data: Uint8Array) => Promise<void>

function openLockedFiles(directory: string): Candidate {
  const { lock } = load<Lockfile>('proper-lockfile')
  const write = load<WriteFileAtomic>('write-file-atomic')
  mkdirSync(directory, { recursive: true })
  const fileOf = (key: string) => join(directory, key)
  const read = (key: string): Uint8Array | undefined => {
    try {
      return readFileSync(fileOf(key))
    } catch {
      return undefined
    }
  }
  const retries = { retries: 100_000, minTimeout: 1, maxTimeout: 10 }
  return {
    get: async (key) => read(key),
    set: (key, value) => write(fileOf(key), value),
    async update(key, change) {
      // 2 seconds is the shortest stale time it accepts.
      const release = await lock(fileOf(key), { realpath: false, stale: 2_000, retries })
      await write(fileOf(key), change(read(key)))
      await release()
    },
    close: async () => {},
  }
}

interface Lmdb {
  open(options: object): LmdbDatabase
}
interface LmdbDatabase {
  get(key: string): Uint8Array | undefined
  put(key: string, value: Uint8Array): Promise<unknown>
  transaction(work: () => void): Promise<unknown>
  close(): Promise<void>
}

function openLmdb(directory: string): Candidate {
  const database = load<Lmdb>('lmdb').open({ path: directory, encoding: 'binary' })
  return {
    get: async (key) => database.get(key),
    set: async (key, value) => void (await database.put(key, value)),
    update: async (key, change) =>
      void (await database.transaction(() => void database.put(key, change(database.get(key))))),
    close: () => database.close(),
  }
}

interface Sqlite {
  exec(sql: string): unknown
  prepare(sql: string): {
    get(key: string): { value: Uint8Array } | undefined
    run(key: string, value: Uint8Array): unknown
  }
  close(): void
}

function openBetterSqlite(directory: string): Candidate {
  const Database = load<new (path: string) => Sqlite>('better-sqlite3')
  mkdirSync(directory, { recursive: true })
  return sqliteCandidate(new Database(join(directory, 'store.db')))
}

function openNodeSqlite(directory: string): Candidate {
  const { DatabaseSync } = load<{ DatabaseSync: new (path: string) => Sqlite }>('node:sqlite')
  mkdirSync(directory, { recursive: true })
  return sqliteCandidate(new DatabaseSync(join(directory, 'store.db')))
}

function sqliteCandidate(database: Sqlite): Candidate {
  database.exec('PRAGMA busy_timeout = 10000')
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID')
  const select = database.prepare('SELECT value FROM entries WHERE key = ?')
  const upsert = database.prepare('INSERT OR REPLACE INTO entries VALUES (?, ?)')
  return {
    get: async (key) => select.get(key)?.value,
    set: async (key, value) => void upsert.run(key, value),
    async update(key, change) {
      database.exec('BEGIN IMMEDIATE')
      try {
        upsert.run(key, change(select.get(key)?.value))
        database.exec('COMMIT')
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },
    close: async () => database.close(),
  }
}

function load<Module>(name: string): Module {
  return createRequire(join(CANDIDATES, 'package.json'))(name) as Module
}
