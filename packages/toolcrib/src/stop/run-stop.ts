import { ToolcribError } from '@toolcrib/core'
import { requireGateways } from '../gateway/require-gateway.ts'
import type { RunningGateway } from '../gateway/running-gateway.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plural } from '../terminal/text.ts'

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
  if (flags.json) terminal.printJson(outcomeOf(running))
  else for (const gateway of running) terminal.say(`stopped the gateway ${gateway.place}`)
  return 0
}

/** What `--json` prints of each gateway. */
interface StoppedGateway {
  readonly pid: number
  /** null: it served over stdio. */
  readonly url: string | null
  /** What the client calls itself that it served over stdio. */
  readonly client?: string
}

interface Outcome extends StoppedGateway {
  readonly stopped: true
  /** The gateways after the first, if there are any. */
  readonly others?: readonly StoppedGateway[]
}

function outcomeOf([first, ...others]: readonly [RunningGateway, ...RunningGateway[]]): Outcome {
  const more = others.length > 0 ? { others: others.map(stoppedGateway) } : {}
  return { stopped: true, ...stoppedGateway(first), ...more }
}

function stoppedGateway({ report: { pid, url, client } }: RunningGateway): StoppedGateway {
  return { pid, url, ...(client === undefined ? {} : { client }) }
}
