import { ToolcribError } from 'toolcrib'
import type { ServerFlags } from '../flags.ts'
import { requireGateway } from '../require-gateway.ts'
import type { Terminal } from '../terminal.ts'
import { plural } from '../text.ts'

/** Stops the running gateway, and returns once its process has ended. */
export async function runStop(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const running = await requireGateway(terminal, flags, 'there is nothing to stop')
  const { pid, url, callsUnderWay } = running.report
  const line = terminal.progressLine()
  const calls = typeof callsUnderWay === 'number' && callsUnderWay > 0 ? callsUnderWay : undefined
  const what = calls === undefined ? 'its servers to end' : `${plural(calls, 'call')} to finish`
  const isGone = await running.stop({ onWait: () => line.show(`waiting for ${what} …`) })
  line.clear()
  if (!isGone)
    throw new ToolcribError('source-unavailable', `the gateway did not stop; end it with "kill ${pid}"`)
  if (flags.json) terminal.printJson({ stopped: true, pid, url })
  else terminal.say(`stopped the gateway at ${url}`)
  return 0
}
