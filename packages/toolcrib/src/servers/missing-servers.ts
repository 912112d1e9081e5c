import type { ServerStatus, ToolRegistry } from '@toolcrib/core'
import type { ApiStatus } from '@toolcrib/mcp'
import pc from 'picocolors'
import type { Terminal } from '../terminal/terminal.ts'
import { cut, plain, plural } from '../terminal/text.ts'
import { describeFailed, mendServer } from './mend-server.ts'

/**
 * Notes which servers are missing from a result, and why, and whether the tools of others are cached. Returns the
 * exit code: 1 when servers are configured and all of them are missing.
 */
export function noteMissing(
  terminal: Terminal,
  statuses: readonly ServerStatus[],
  what: 'listed' | 'searched' | 'counted',
  apis: readonly ApiStatus[] = [],
): 0 | 1 {
  if (statuses.length === 0) {
    if (apis.length > 0) return 0
    const step = 'run "toolcrib" to set them up'
    terminal.warn(`no servers are configured; ${step}`)
    return 0
  }
  const missing = statuses.filter(isMissing)
  if (missing.length > MANY && terminal.errors.isTTY) {
    const names = missing.map(({ server }) => plain(server)).join(', ')
    terminal.warn(`${missing.length} servers are not ${what}: ${names}; see why with "toolcrib doctor"`)
  } else
    for (const status of missing) {
      // Without a result, the reason matters most.
      const isBrief = terminal.errors.isTTY === true && !isNoneThere(statuses)
      const reason = isBrief ? briefReason(status) : wholeReason(status)
      terminal.warn(`${plain(status.server)} is not ${what}: ${reason}`)
    }
  if (isNoneThere(statuses)) {
    terminal.note(`${pc.red('error')} no server responded; find out why with "toolcrib doctor"`)
    return 1
  }
  const remembered = statuses.filter(({ state }) => state === 'cold').length
  if (remembered > 0 && terminal.errors.isTTY)
    terminal.note(pc.dim('tools are from the cache; use --refresh to ask the servers again'))
  return 0
}

/** More lines than this would hide the result above them, so the servers share one line. */
const MANY = 3

/** Notes how many quarantined tools are missing from the result. */
export function noteQuarantined(
  terminal: Terminal,
  registry: ToolRegistry,
  what: 'searched' | 'shown to a model',
): void {
  const count = quarantinedTools(registry).length
  if (count === 0) return
  const step = 'see what changed with "toolcrib diff"'
  terminal.warn(`${plural(count, 'tool is', 'tools are')} in quarantine and not ${what}; ${step}`)
}

/** The names of tools whose definition changed since it was approved. */
export function quarantinedTools(registry: ToolRegistry): string[] {
  const names = registry.listSchemas().map(({ name }) => name)
  return names.filter((name) => registry.explain(name).state === 'quarantined')
}

/** Whether servers are configured, and none of them has responded. */
export function isNoneThere(statuses: readonly ServerStatus[]): boolean {
  return statuses.length > 0 && statuses.every(isMissing)
}

/** Whether a server has not responded so far. */
export function isMissing({ state }: ServerStatus): boolean {
  return state === 'failed' || state === 'connecting'
}

function wholeReason(status: ServerStatus): string {
  return status.state === 'failed' ? `it ${describeFailed(status.reason)}` : stillConnecting(status)
}

function briefReason(status: ServerStatus): string {
  if (status.state !== 'failed') return stillConnecting(status)
  const { fault } = mendServer(status.server, status.reason)
  return `${cut(fault, MAX_FAULT)}; see "toolcrib doctor"`
}

function stillConnecting(status: ServerStatus): string {
  const what = status.state === 'connecting' ? status.detail : undefined
  return `it is still ${what ?? 'connecting'}; increase --timeout`
}

/** About three lines; a server's last output may be far longer. */
const MAX_FAULT = 200
