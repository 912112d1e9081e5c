import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { ServerConfig } from 'toolcrib/mcp'

export interface StartPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Why a server cannot start, found without running it: an invalid table, or a command that does not exist. */
export async function whyNotStartable(
  { problem, command, cwd: folder, env: own }: ServerConfig,
  { env, cwd }: StartPlace,
): Promise<string | undefined> {
  if (problem !== undefined) return problem
  // Windows adds extensions to commands; only its own start can say what exists.
  if (command === undefined || process.platform === 'win32') return undefined
  const from = resolve(cwd, folder ?? '.')
  const path = own?.PATH ?? env.PATH ?? ''
  const places = command.includes('/')
    ? [isAbsolute(command) ? command : join(from, command)]
    : path.split(delimiter).map((directory) => join(directory, command))
  for (const place of places) if (await isExecutable(place)) return undefined
  return `its command "${command}" was not found`
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
