import { networkInterfaces, hostname as ownName } from 'node:os'
import { ToolcribError } from 'toolcrib'
import type { FoundConfig } from 'toolcrib/mcp'
import { isLoopback } from '../access-token.ts'

/** Throws `config-invalid` when the profile does not exist. */
export function requireProfiles(profile: string | undefined, { config }: FoundConfig): void {
  const names = Object.keys(config.profiles ?? {})
  if (profile !== undefined && !names.includes(profile)) {
    const known = names.length > 0 ? `the config has ${names.join(', ')}` : 'the config has none'
    throw new ToolcribError('config-invalid', `there is no profile "${profile}"; ${known}`)
  }
}

/** The names under which clients reach an address that is not a loopback one; the gateway's own default otherwise. */
export function reachableHosts(host: string): readonly string[] | undefined {
  if (isLoopback(host)) return undefined
  const isEvery = host === '0.0.0.0' || host === '::' || host === '[::]'
  const addresses = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))
  return ['localhost', '127.0.0.1', '[::1]', ownName(), ...(isEvery ? addresses : [host])]
}
