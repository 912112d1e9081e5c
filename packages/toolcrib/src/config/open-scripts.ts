import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { RegistryOptions, Store } from '@toolcrib/core'
import { type Config, type Environment, stateDirectory } from '@toolcrib/mcp'
import { fromFile } from './access-token.ts'

/** The registry option that runs scripts, if the config enables them. Paused ones are kept in the store, if there is one. */
export async function openScripts(
  { scripts = {} }: Config,
  env: Environment,
  store?: Store,
): Promise<Pick<RegistryOptions, 'scripts'>> {
  return scripts.enabled === true ? { scripts: await openEngine({ scripts }, env, store) } : {}
}

/** What runs scripts, and replays those that are recorded in the store. */
export async function openEngine({ scripts = {} }: Pick<Config, 'scripts'>, env: Environment, store?: Store) {
  const engine = await import('@toolcrib/scripts')
  return store === undefined
    ? engine.scripts()
    : engine.scripts({ store, key: await keyOf(scripts.key, env) })
}

/** From the config, else from a file that is made once; without a folder for it, one that is lost with this process. */
async function keyOf(configured: string | undefined, env: Environment): Promise<Uint8Array> {
  const folder = stateDirectory(env)
  if (configured === undefined && folder === undefined) return randomBytes(32)
  const text = configured ?? (await ownKey(join(folder ?? '', 'scripts-key')))
  return createHash('sha256').update(text).digest()
}

async function ownKey(path: string): Promise<string> {
  // Another gateway may make the file at this moment.
  const { token } = await fromFile(path).catch(() => fromFile(path))
  return token
}
