import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord } from '../../json.ts'
import { makeFolder } from '../../store/files/make-folder.ts'
import { writeWhole } from '../../store/files/write-whole.ts'

/** What is kept of an authorization: tokens, the client's registration, and what a flow under way needs. */
export type Authorization = Readonly<Record<string, unknown>>

/** Where authorizations rest. The key names a server and its address, so that no token goes to another one. */
export interface TokenStore {
  load(key: string): Promise<Authorization | undefined>
  save(key: string, authorization: Authorization): Promise<void>
}

/** Authorizations as files that only their owner may read; each write replaces a file as a whole. */
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
