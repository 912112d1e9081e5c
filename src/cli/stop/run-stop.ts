import type { ServerFlags } from '../flags.ts'
import { requireGateway } from '../require-gateway.ts'
import type { Terminal } from '../terminal.ts'

/** Stops the running gateway, and returns once it is gone. */
export async function runStop(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const running = await requireGateway(terminal, flags)
  const { pid, url } = running.report
  await running.stop()
  if (flags.json) terminal.printJson({ stopped: true, pid, url })
  else terminal.say(`stopped the gateway at ${url}`)
  return 0
}
