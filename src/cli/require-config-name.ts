import { UsageError } from './usage-error.ts'

/** Returns the config path of a flag. Throws `UsageError` if no config can have that name. */
export function requireConfigName(flag: string, path: string): string {
  if (/\.(?:toml|json)$/.test(path)) return path
  throw new UsageError(
    `${flag} ${path} is neither .toml nor .json; choose a file with one of these extensions`,
  )
}
