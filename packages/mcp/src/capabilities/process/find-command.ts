import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, normalize } from 'node:path'

/**
 * The absolute path of a command. A bare name is looked up in the given directories; an absolute path is used
 * unchanged. A relative path is never found, so no file in a working directory can pose as a command.
 */
export async function findCommand(
  command: string,
  directories: readonly string[],
): Promise<string | undefined> {
  if (command === '' || command.includes('\0')) return undefined
  if (isAbsolute(command)) return (await isExecutable(command)) ? normalize(command) : undefined
  if (/[\\/]/.test(command) || command === '.' || command === '..') return undefined
  for (const directory of directories) {
    const candidate = join(directory, command)
    if (await isExecutable(candidate)) return candidate
  }
  return undefined
}

/** The directories in a PATH, without empty and relative entries, which refer to the working directory. */
export function searchDirectories(path: string): string[] {
  return path.split(delimiter).filter((directory) => isAbsolute(directory))
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
