import pc from 'picocolors'
import type { ServerStatus } from 'toolcrib'
import { note, plain } from './terminal.ts'

/**
 * Tells on stderr which servers a result is without, and why, and whether others are as remembered. Answers the exit
 * code: 1 when servers are configured and none of them is in the result.
 */
export function noteMissing(
  statuses: readonly ServerStatus[],
  what: 'listed' | 'searched' | 'counted',
): 0 | 1 {
  if (statuses.length === 0) {
    const step = 'add one, or take over those of other programs with "toolcrib import"'
    note(`${pc.yellow('note')} no servers are configured; ${step}`)
    return 0
  }
  const missing = statuses.filter(isMissing)
  for (const status of missing)
    note(`${pc.yellow('note')} ${status.server} is not ${what}: ${reasonOf(status)}`)
  if (isNoneThere(statuses)) {
    note(`${pc.red('error')} no server answered; see what to do with "toolcrib doctor"`)
    return 1
  }
  const remembered = statuses.filter(({ state }) => state === 'cold').length
  if (remembered > 0 && process.stderr.isTTY)
    note(pc.dim('tools are as remembered; ask the servers anew with --refresh'))
  return 0
}

/** Whether servers are configured, and none of them has answered. */
export function isNoneThere(statuses: readonly ServerStatus[]): boolean {
  return statuses.length > 0 && statuses.every(isMissing)
}

function isMissing({ state }: ServerStatus): boolean {
  return state === 'failed' || state === 'connecting'
}

function reasonOf(status: ServerStatus): string {
  return status.state === 'failed'
    ? `it failed: ${plain(status.reason)}`
    : 'it is still connecting; give it more with --timeout'
}
