import { UsageError } from './usage-error.ts'

/** Throws `UsageError` if a flag's value is not an HTTP URL. */
export function requireHttpUrl(flag: string, url: string): void {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return
  throw new UsageError(`${flag} must be an http or https address, not "${url}"`)
}
