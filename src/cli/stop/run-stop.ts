import { ToolcribError } from 'toolcrib'
import type { ServerFlags } from '../flags.ts'
import { requireGateways } from '../require-gateway.ts'
import type { Terminal } from '../terminal.ts'
import { plural } from '../text.ts'

/** Stops the running gateways, and returns once their processes have ended. */
export async function runStop(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const running = await requireGateways(terminal, flags, 'there is nothing to stop')
  const line = terminal.progressLine()
  const calls = running.reduce((sum, { report }) => sum + (report.callsUnderWay ?? 0), 0)
  const what = calls > 0 ? `${plural(calls, 'call')} to finish` : 'servers to end'
  const onWait = () => line.show(`waiting for ${what} …`)
  const areGone = await Promise.all(running.map((gateway) => gateway.stop({ onWait })))
  line.clear()
  const left = running.filter((_, at) => !areGone[at]).map(({ report }) => report.pid)
  if (left.length > 0) {
    const fault = left.length === 1 ? 'the gateway did not stop; end it' : 'gateways did not stop; end them'
    throw new ToolcribError('source-unavailable', `${fault} with "kill ${left.join(' ')}"`)
  }
  const [first, ...others] = running.map(({ report: { pid, url } }) => ({ pid, url }))
  if (flags.json) terminal.printJson({ stopped: true, ...first, ...(others.length > 0 ? { others } : {}) })
  else for (const gateway of running) terminal.say(`stopped the gateway ${gateway.place}`)
  return 0
}
