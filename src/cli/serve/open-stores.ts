import { join, resolve } from 'node:path'
import { ToolcribError } from 'toolcrib'
import { redisAnnouncements, redisStore } from 'toolcrib/redis'
import { type Announcements, fileStore, type WatchedStore, watchStore } from 'toolcrib/stores'
import type { Terminal } from '../terminal.ts'

/** Where a gateway keeps its state, and how it reaches other replicas. */
export interface ServeStores {
  readonly store: WatchedStore | undefined
  /** Undefined where this gateway is the only one. */
  readonly announcements: Announcements | undefined
  /** Resolves once the store was reached, or could not be: the first use takes longest. Never rejects. */
  readonly tried: Promise<unknown>
  close(): Promise<void>
}

/**
 * Opens what `--store` names: `file:DIR` or `redis://…`; by default `TOOLCRIB_STORE`, or a folder of the user's state. Throws
 * `config-invalid` for any other kind of store.
 */
export function openStores(flag: string | undefined, { cwd, env }: Terminal): ServeStores {
  const chosen = flag ?? (env.TOOLCRIB_STORE || undefined)
  if (chosen === undefined) {
    const state = env.XDG_STATE_HOME || (env.HOME ? join(env.HOME, '.local', 'state') : env.LOCALAPPDATA)
    return inFolder(state === undefined || state === '' ? undefined : join(state, 'toolcrib', 'gateway'))
  }
  const directory = /^file:(.+)$/.exec(chosen)?.[1]
  if (directory !== undefined) return inFolder(resolve(cwd, directory))
  if (/^rediss?(\+cluster)?:\/\//.test(chosen) && URL.canParse(chosen)) return inRedis(new URL(chosen))
  // An address may hold a password, so only its beginning is shown.
  const shown = chosen.split('@')[0]?.slice(0, 20)
  throw new ToolcribError(
    'config-invalid',
    `--store is "${shown}"; it must be file: and a folder, or redis://`,
  )
}

function inFolder(directory: string | undefined): ServeStores {
  const store = directory === undefined ? undefined : watchStore(fileStore({ directory }))
  return { store, announcements: undefined, tried: Promise.resolve(), close: async () => store?.close() }
}

/** `?prefix=` keeps gateways of different kinds apart in one Redis. */
function inRedis(address: URL): ServeStores {
  const prefix = address.searchParams.get('prefix') ?? undefined
  address.searchParams.delete('prefix')
  const where = { url: address.href, ...(prefix === undefined ? {} : { prefix }) }
  const redis = redisStore(where)
  const store = watchStore(redis)
  const announcements = redisAnnouncements(where)
  const close = async () => {
    await Promise.all([store.close(), announcements.close()])
  }
  return { store, announcements, tried: redis.get('health:probe').catch(() => {}), close }
}
