import { join, resolve } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { type Announcements, fileStore, type WatchedStore, watchStore } from '@toolcrib/mcp/stores'
import type { Terminal } from '../terminal/terminal.ts'
import { plain } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

/** Where a gateway keeps its state, and how it reaches other replicas. */
export interface ServeStores {
  readonly store: WatchedStore | undefined
  /** Undefined if this gateway is the only one. */
  readonly announcements: Announcements | undefined
  /**
   * Resolves once the store was reached, or with the reason why not: the first use takes longest. Rejects with
   * `config-invalid` if it can never be reached.
   */
  readonly tried: Promise<string | undefined>
  close(): Promise<void>
}

/**
 * Opens the store of `--store`: `file:DIR` or `redis://…`; by default `TOOLCRIB_STORE`, or a folder of the user's
 * state. For any other kind of store, throws `UsageError` if the flag names it, and `config-invalid` if the environment
 * does.
 */
export async function openStores(flag: string | undefined, { cwd, env }: Terminal): Promise<ServeStores> {
  const chosen = flag ?? (env.TOOLCRIB_STORE || undefined)
  if (chosen === undefined) {
    const state = env.XDG_STATE_HOME || (env.HOME ? join(env.HOME, '.local', 'state') : env.LOCALAPPDATA)
    return inFolder(state === undefined || state === '' ? undefined : join(state, 'toolcrib', 'gateway'))
  }
  const directory = /^file:(.+)$/.exec(chosen)?.[1]
  if (directory !== undefined) return inFolder(resolve(cwd, directory))
  const setting = flag === undefined ? 'TOOLCRIB_STORE' : '--store'
  if (/^(rediss?(\+cluster)?|redis\+sentinel):\/\//.test(chosen) && URL.canParse(chosen))
    return inRedis(new URL(chosen), setting)
  // An address may contain a password, so only its beginning is shown.
  const shown = chosen.split('@')[0]?.slice(0, 20)
  const fault = `${setting} is "${shown}"; it must be file: and a folder, or redis://`
  throw flag === undefined ? new ToolcribError('config-invalid', fault) : new UsageError(fault)
}

function inFolder(directory: string | undefined): ServeStores {
  const store = directory === undefined ? undefined : watchStore(fileStore({ directory }))
  return {
    store,
    announcements: undefined,
    tried: Promise.resolve(undefined),
    close: async () => store?.close(),
  }
}

/** `?prefix=` separates gateways in one Redis. */
async function inRedis(address: URL, setting: string): Promise<ServeStores> {
  const { redisAnnouncements, redisStore } = await import('@toolcrib/mcp/redis')
  const prefix = address.searchParams.get('prefix') ?? undefined
  address.searchParams.delete('prefix')
  const where = { url: address.href, ...(prefix === undefined ? {} : { prefix }) }
  const redis = redisStore(where)
  const store = watchStore(redis)
  const announcements = redisAnnouncements(where)
  const close = async () => {
    await Promise.all([store.close(), announcements.close()])
  }
  const tried = redis.get('health:probe').then(
    () => undefined,
    (error) => {
      // Retrying would not help: its package is missing.
      if (error instanceof ToolcribError && error.code === 'config-invalid') throw error
      return describeFault(error, address, setting)
    },
  )
  return { store, announcements, tried, close }
}

/** Names only the host: the rest of an address may contain a password. */
function describeFault(error: unknown, { protocol, host }: URL, setting: string): string {
  const reason = error instanceof Error ? plain(error.message) : 'it does not respond'
  const step = `start it, or correct ${setting}`
  return `the store ${protocol}//${host} cannot be used: ${reason}; ${step}. It is tried again every second; until it works, \
replicas share nothing`
}
