import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CatalogueCache, fileCatalogueCache } from '../cache/catalogue-cache.ts'
import type { Environment } from './load-config.ts'
import { cacheDirectory } from './user-folders.ts'

/** A server may list different tools tomorrow under the same command. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000

export interface UserCacheOptions {
  /** false: catalogues are saved but never loaded, so every server is asked for its tools. */
  readonly isRead: boolean
  /** The config files whose servers are cached; each combination has its own search vectors. */
  readonly files: readonly string[]
  readonly now: number
}

/**
 * Opens the catalogue cache in the user's cache folder and deletes files older than a day. Returns undefined when the
 * environment does not define such a folder.
 */
export async function openUserCache(
  env: Environment,
  { isRead, files, now }: UserCacheOptions,
): Promise<CatalogueCache | undefined> {
  const folder = cacheDirectory(env)
  if (folder === undefined) return undefined
  const directory = join(folder, 'catalogues')
  await deleteOlderThan(directory, now - MAX_AGE_MS)
  const cache = fileCatalogueCache(directory)
  const ownName = (name: string) => [name, ...files].join(' ')
  return {
    ...cache,
    ...(isRead ? {} : { load: async () => undefined }),
    loadIndex: async (name) => cache.loadIndex?.(ownName(name)),
    saveIndex: async (name, bytes) => cache.saveIndex?.(ownName(name), bytes),
  }
}

async function deleteOlderThan(directory: string, time: number): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name)
      // Another process may delete it at the same time.
      const file = await stat(path).catch(() => undefined)
      if (file && file.mtimeMs < time) await rm(path, { force: true }).catch(() => {})
    }),
  )
}
