import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Environment, ServerConfig } from '../config/server-config.ts'

/**
 * Returns the real path of the program that a server's command runs, found on the `PATH`; undefined for an HTTP
 * server and for a command that is not found. Never throws.
 */
export async function findProgram(
  { command, cwd: own, env: ownEnv }: ServerConfig,
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<string | undefined> {
  if (command === undefined) return undefined
  const folder = own ?? cwd
  if (/[/\\]/.test(command)) return runnable(isAbsolute(command) ? command : join(folder, command))
  const path = ownEnv?.PATH ?? env.PATH ?? env.Path ?? ''
  const endings = ['', ...(env.PATHEXT?.split(';') ?? [])]
  for (const directory of path.split(delimiter)) {
    for (const ending of endings) {
      const found = await runnable(join(directory === '' ? folder : directory, `${command}${ending}`))
      if (found !== undefined) return found
    }
  }
  return undefined
}

async function runnable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile() ? await realpath(path) : undefined
  } catch {
    return undefined
  }
}
