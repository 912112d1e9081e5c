import { UsageError } from './usage-error.ts'

/** Returns the path of a config file that a flag gives. Throws `UsageError` for one that no config can have. */
export function requireConfigName(flag: string, path: string): string {
  if (/\.(?:toml|json)$/.test(path)) return path
  throw new UsageError(`${flag} ${path} is neither .toml nor .json; choose such a file`)
}
