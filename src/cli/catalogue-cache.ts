import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CatalogueCache, type Environment, fileCatalogueCache } from 'toolcrib/mcp'

/** A server may list other tools tomorrow, under the same command. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000

export interface CatalogueCacheOptions {
  /** false only writes, for commands that must ask: those that follow then know what these learnt. */
  readonly isRead: boolean
  /** The config whose servers they are: what a search index holds of them is kept apart from that of others. */
  readonly files: readonly string[]
  readonly now: number
}

/**
 * What servers listed, as files of the user's cache folder; undefined where there is none. What is older than a day is
 * forgotten.
 */
export async function openCatalogueCache(
  env: Environment,
  { isRead, files, now }: CatalogueCacheOptions,
): Promise<CatalogueCache | undefined> {
  const folder = cacheDirectory(env)
  if (folder === undefined) return undefined
  const directory = join(folder, 'catalogues')
  await forgetBefore(directory, now - MAX_AGE_MS)
  const cache = fileCatalogueCache(directory)
  const ownName = (name: string) => [name, ...files].join(' ')
  return {
    ...cache,
    ...(isRead ? {} : { load: async () => undefined }),
    loadIndex: async (name) => cache.loadIndex?.(ownName(name)),
    saveIndex: async (name, bytes) => cache.saveIndex?.(ownName(name), bytes),
  }
}

/** `$XDG_CACHE_HOME/toolcrib`, `~/.cache/toolcrib`, or `%LOCALAPPDATA%\toolcrib\cache`; undefined without any of them. */
function cacheDirectory(env: Environment): string | undefined {
  if (env.XDG_CACHE_HOME) return join(env.XDG_CACHE_HOME, 'toolcrib')
  if (env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'toolcrib', 'cache')
  return env.HOME ? join(env.HOME, '.cache', 'toolcrib') : undefined
}

async function forgetBefore(directory: string, time: number): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name)
      // Another process may be forgetting it, too.
      const age = await stat(path).catch(() => undefined)
      if (age && age.mtimeMs < time) await rm(path, { force: true }).catch(() => {})
    }),
  )
}
