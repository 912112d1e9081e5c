import pc from 'picocolors'
import type { ServerStatus, ToolRegistry } from 'toolcrib'
import type { Terminal } from './terminal.ts'
import { plain, plural } from './text.ts'

/**
 * Notes which servers a result lacks, and why, and whether the tools of others are remembered ones. Returns the exit
 * code: 1 when servers are configured and the result has none of them.
 */
export function noteMissing(
  terminal: Terminal,
  statuses: readonly ServerStatus[],
  what: 'listed' | 'searched' | 'counted',
): 0 | 1 {
  if (statuses.length === 0) {
    const step = 'add one, or import those of other programs with "toolcrib import"'
    terminal.note(`${pc.yellow('note')} no servers are configured; ${step}`)
    return 0
  }
  const missing = statuses.filter(isMissing)
  for (const status of missing)
    terminal.note(`${pc.yellow('note')} ${status.server} is not ${what}: ${reasonOf(status)}`)
  if (isNoneThere(statuses)) {
    terminal.note(`${pc.red('error')} no server answered; find out why with "toolcrib doctor"`)
    return 1
  }
  const remembered = statuses.filter(({ state }) => state === 'cold').length
  if (remembered > 0 && terminal.errors.isTTY)
    terminal.note(pc.dim('tools are as remembered; ask the servers again with --refresh'))
  return 0
}

/** Notes how many tools are in quarantine, which the result leaves out. */
export function noteQuarantined(
  terminal: Terminal,
  registry: ToolRegistry,
  what: 'searched' | 'shown to a model',
): void {
  const count = quarantinedTools(registry).length
  if (count === 0) return
  const step = 'see what changed with "toolcrib diff"'
  terminal.note(
    `${pc.yellow('note')} ${plural(count, 'tool is', 'tools are')} in quarantine and not ${what}; ${step}`,
  )
}

/** Tools whose definition changed since it was approved, by name. */
export function quarantinedTools(registry: ToolRegistry): string[] {
  const names = registry.listSchemas().map(({ name }) => name)
  return names.filter((name) => registry.explain(name).state === 'quarantined')
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
    : 'it is still connecting; give it more time with --timeout'
}
