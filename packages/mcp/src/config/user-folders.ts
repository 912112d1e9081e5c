import { join } from 'node:path'
import type { Environment } from './server-config.ts'

/** `$XDG_CONFIG_HOME/toolcrib`, `~/.config/toolcrib`, or `%APPDATA%\toolcrib`; undefined without any of them. */
export function configDirectory(env: Environment): string | undefined {
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'toolcrib')
  if (env.APPDATA) return join(env.APPDATA, 'toolcrib')
  return env.HOME ? join(env.HOME, '.config', 'toolcrib') : undefined
}

/**
 * The folder for data that can be fetched again: `$XDG_CACHE_HOME/toolcrib`, `~/.cache/toolcrib`, or
 * `%LOCALAPPDATA%\toolcrib\cache`; undefined without any of them.
 */
export function cacheDirectory(env: Environment): string | undefined {
  if (env.XDG_CACHE_HOME) return join(env.XDG_CACHE_HOME, 'toolcrib')
  if (env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'toolcrib', 'cache')
  return env.HOME ? join(env.HOME, '.cache', 'toolcrib') : undefined
}

/**
 * The folder for persistent data that is not config: `$XDG_STATE_HOME/toolcrib`, `~/.local/state/toolcrib`, or
 * `%LOCALAPPDATA%\toolcrib\state`; undefined without any of them.
 */
export function stateDirectory(env: Environment): string | undefined {
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'toolcrib')
  if (env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'toolcrib', 'state')
  return env.HOME ? join(env.HOME, '.local', 'state', 'toolcrib') : undefined
}
