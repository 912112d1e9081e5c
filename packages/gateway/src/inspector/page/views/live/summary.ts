import type { LiveEvent } from '../../../record/event-log.ts'
import { about, duration, plural, whole } from '../../format.ts'

/** An event in a few words; undefined for events that are shown as JSON. */
export function summaryOf({ type, server, details }: LiveEvent): string | undefined {
  const {
    query,
    total,
    name,
    ok,
    code,
    durationMs,
    tools,
    tokens,
    deferredCount,
    state,
    detail,
    reason = detail,
    line,
    text,
  } = details
  switch (type) {
    case 'searched':
      return `“${query}” → ${Number(total) > 0 ? `${whole(Number(total))} found: ${namesOf(details.names)}` : 'nothing found'}`
    case 'missed':
      return `“${text}” → nothing`
    case 'activated':
    case 'auto-activated':
    case 'evicted':
    case 'deactivated':
      return `${namesOf(details.names)} · ${about(Number(tokens))} tokens`
    case 'call-started':
      return nameOf(name)
    case 'call-finished':
      return `${nameOf(name)} · ${ok ? 'ok' : (code ?? 'failed')} in ${duration(Number(durationMs))}`
    case 'session-opened':
      return Number(details.restored) > 0 ? `${plural(Number(details.restored), 'tool')} restored` : 'new'
    case 'surfaced':
      return `${tools} tools in ${about(Number(tokens))} tokens, ${whole(Number(deferredCount))} deferred`
    case 'server-state':
      return `${server} · ${state === 'cold' ? 'asleep' : state}${reason ? `: ${reason}` : ''}`
    case 'server-synced':
      return `${details.server ?? server} · ${changesOf(details)}`
    case 'tool-registered':
    case 'tool-unregistered':
    case 'tool-quarantined':
    case 'tool-released':
      return nameOf(name)
    case 'tool-suspicious': {
      const { tool, message } = Object(details.finding)
      return `${server} · ${tool}: ${message}`
    }
    case 'server-output':
      return `${server} · ${line}`
    default:
      return undefined
  }
}

/** 3 tools added, 1 changed */
function changesOf(details: LiveEvent['details']): string {
  const counts = ['added', 'changed', 'removed', 'skipped'].flatMap((key) => {
    const { [key]: names } = details
    return Array.isArray(names) && names.length > 0 ? [`${names.length} ${key}`] : []
  })
  return counts.length === 0 ? 'unchanged' : `tools: ${counts.join(', ')}`
}

const MAX_NAMES = 4

function namesOf(names: unknown): string {
  if (!Array.isArray(names)) return ''
  const shown = names.slice(0, MAX_NAMES).map(nameOf).join(', ')
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown
}

/** `mcp__files__read` as `files · read` */
function nameOf(name: unknown): string {
  return String(name).replace(/^mcp__(.+?)__/s, '$1 · ')
}
