import { networkInterfaces, hostname as ownName } from 'node:os'
import { ToolcribError } from 'toolcrib'
import type { FoundConfig } from 'toolcrib/mcp'
import { isLoopback } from '../access-token.ts'

/** Throws `config-invalid` when the profile does not exist, or any profile names a server that does not. */
export function requireProfiles(profile: string | undefined, { config, locks }: FoundConfig): void {
  const profiles = Object.entries(config.profiles ?? {})
  const names = profiles.map(([name]) => name)
  if (profile !== undefined && !names.includes(profile)) {
    const known = names.length > 0 ? `the config has ${names.join(', ')}` : 'the config has none'
    throw new ToolcribError('config-invalid', `there is no profile "${profile}"; ${known}`)
  }
  const disabled = locks.flatMap(({ resting }) => [...resting])
  const servers = [...Object.keys(config.servers), ...disabled]
  for (const [name, { servers: named = [] }] of profiles) {
    const unknown = named.find((server) => !servers.includes(server))
    if (unknown !== undefined)
      throw new ToolcribError(
        'config-invalid',
        `profile "${name}" names the server "${unknown}", which does not exist; the config has ${servers.join(', ') || 'none'}`,
      )
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
