import { isRecord } from '@toolcrib/core/internal'
import type { AuditEntry } from './audit-log.ts'

/** Where `@opentelemetry/api-logs` keeps the provider that a host has set, for every copy of it in a process. */
const LOGS = Symbol.for('io.opentelemetry.js.api.logs')
const API_VERSION = 1
const INFO = 9
const WARN = 13

/** Emits a recorded call as a log record of OpenTelemetry, if the host has a provider. One that fails changes nothing. */
export function emitLogRecord(entry: AuditEntry): void {
  try {
    const logger = provider()?.getLogger('toolcrib')
    logger?.emit({
      eventName: 'toolcrib.call',
      timestamp: Date.parse(entry.at),
      severityNumber: entry.outcome === 'ok' || entry.outcome === 'started' ? INFO : WARN,
      body: `${entry.who} ${entry.decision} ${entry.tool}: ${entry.outcome}`,
      attributes: attributesOf(entry),
    })
  } catch {}
}

function attributesOf({ arguments: args, tool, ...entry }: AuditEntry): Readonly<Record<string, unknown>> {
  const own = Object.entries(entry).map(([key, value]) => [`toolcrib.${key}`, value])
  return {
    'gen_ai.tool.name': tool,
    ...Object.fromEntries(own),
    ...(args === undefined ? {} : { 'gen_ai.tool.call.arguments': JSON.stringify(args) }),
  }
}

interface LoggerProvider {
  getLogger(name: string): { emit(record: object): void }
}

function provider(): LoggerProvider | undefined {
  const held: unknown = (globalThis as { [LOGS]?: unknown })[LOGS]
  const found: unknown = typeof held === 'function' ? held(API_VERSION) : undefined
  return isRecord(found) && typeof found.getLogger === 'function'
    ? (found as unknown as LoggerProvider)
    : undefined
}
