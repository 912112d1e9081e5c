import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '../../json.ts'
import { makeFolder } from '../../store/files/make-folder.ts'
import { writeWhole } from '../../store/files/write-whole.ts'
import type { JsonValue, Store } from '../../store/store.ts'

/** What is stored of an authorization: tokens, the client registration, and the state of a running flow. */
export type Authorization = Readonly<Record<string, unknown>>

/** Stores authorizations. The key names a server and its address, so that no token is sent to another one. */
export interface TokenStore {
  load(key: string): Promise<Authorization | undefined>
  save(key: string, authorization: Authorization): Promise<void>
}

/** Keeps authorizations in a store. */
export function tokenStoreIn(store: Store): TokenStore {
  const keyOf = (key: string) => `oauth:${createHash('sha256').update(key).digest('hex')}`
  return {
    async load(key) {
      const data = await store.get(keyOf(key))
      return isRecord(data) ? data : undefined
    },
    // Tokens arrived as JSON.
    save: (key, authorization) => store.set(keyOf(key), authorization as JsonValue),
  }
}

/** Stores authorizations as files that only their owner can read; each write replaces a file atomically. */
export function fileTokenStore(directory: string): TokenStore {
  const pathOf = (key: string) =>
    join(directory, `${createHash('sha256').update(key).digest('hex').slice(0, 32)}.json`)
  return {
    async load(key) {
      try {
        const data: unknown = JSON.parse(await readFile(pathOf(key), 'utf8'))
        return isRecord(data) ? data : undefined
      } catch {
        return undefined
      }
    },
    async save(key, authorization) {
      await makeFolder(directory, { mode: 0o700 })
      await writeWhole(pathOf(key), JSON.stringify(authorization), { mode: 0o600 })
    },
  }
}
