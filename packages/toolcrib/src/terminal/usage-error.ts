/** Words or flags that a command cannot use, whatever the config says. The message names the next step. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'usage-invalid'
}

/** Throws `UsageError` if a flag's value is not an HTTP URL. */
export function requireHttpUrl(flag: string, url: string): void {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return
  throw new UsageError(`${flag} must be an http or https address, not "${url}"`)
}

/** Returns the config path of a flag. Throws `UsageError` if no config can have that name. */
export function requireConfigName(flag: string, path: string): string {
  if (/\.(?:toml|json)$/.test(path)) return path
  throw new UsageError(
    `${flag} ${path} is neither .toml nor .json; choose a file with one of these extensions`,
  )
}
