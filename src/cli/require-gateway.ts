import { ToolcribError } from 'toolcrib'
import type { ServerFlags } from './flags.ts'
import { RunningGateway } from './running-gateway.ts'
import type { Terminal } from './terminal.ts'
import { findWithFlags } from './with-registry.ts'

/** The running gateway of the config. Throws `source-unavailable` when there is none. */
export async function requireGateway(
  terminal: Terminal,
  flags: ServerFlags,
  step = 'start one with "toolcrib serve"',
): Promise<RunningGateway> {
  const found = await findWithFlags(terminal, flags)
  const running = await RunningGateway.find(found, terminal.env)
  if (running) return running
  const files = found.config.files.join(', ')
  throw new ToolcribError('source-unavailable', `no gateway is running for ${files}; ${step}`)
}
