import { ToolcribError } from '@toolcrib/core'
import { nearestName } from '@toolcrib/core/internal'
import type { Config } from '@toolcrib/mcp'
import { plain, shellWord } from '../terminal/text.ts'

/** The error for an unknown server, with the next step. */
export function unknownServer(
  name: string,
  { servers, layers = [] }: Pick<Config, 'layers'> & { readonly servers: readonly string[] },
): ToolcribError {
  const isDisabled = layers.some((layer) => layer.servers.includes(name))
  return new ToolcribError(
    'config-invalid',
    isDisabled
      ? `server "${plain(name)}" is disabled; enable it with "toolcrib enable ${shellWord(name)}"`
      : `unknown server "${plain(name)}"; ${nextStep(name, servers)}`,
  )
}

function nextStep(name: string, servers: readonly string[]): string {
  if (servers.length === 0) return 'no server is configured; add one with "toolcrib add <name> -- <command>"'
  const nearest = nearestName(name, servers)
  return nearest === undefined ? `the config has ${servers.join(', ')}` : `did you mean "${nearest}"?`
}
