import pc from 'picocolors'
import type { Config } from 'toolcrib/mcp'
import { RunningGateway } from './running-gateway.ts'
import type { Terminal } from './terminal.ts'

/** Makes all gateways of this config read config and lockfiles again, and notes those that did not. */
export async function reloadGateways(
  terminal: Terminal,
  found: { readonly config: Pick<Config, 'files'> },
): Promise<void> {
  const running = await RunningGateway.allOf(found, terminal.env)
  const areReloaded = await Promise.all(running.map((gateway) => gateway.reload()))
  for (const { place } of running.filter((_, at) => !areReloaded[at]))
    terminal.note(
      `${pc.yellow('note')} the gateway ${place} has not read the lockfile; see "toolcrib logs", or restart it`,
    )
}
