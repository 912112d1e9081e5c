import type { ServerStatus } from '@toolcrib/core'
import {
  type ApiStatus,
  commandWords,
  type Finding,
  type LockChange,
  literalSecrets,
  type McpEvent,
  type ServerConfig,
  type UnmatchedInConfig,
} from '@toolcrib/mcp'
import type { AlikeServers } from '../servers/alike-servers.ts'
import { mendServer } from '../servers/mend-server.ts'
import type { ReadyRegistry } from '../servers/with-registry.ts'

/** What doctor found. */
export interface Report {
  readonly healthy: boolean
  readonly files: readonly string[]
  readonly problem?: string
  readonly servers: readonly ServerReport[]
  readonly apis?: readonly ApiStatus[]
  readonly findings: readonly Finding[]
  /** Servers that have identical tools. */
  readonly alike?: readonly AlikeServers[]
  readonly lockfile: {
    readonly path?: string
    readonly state: 'none' | 'damaged' | 'unchanged' | 'changed'
    readonly changes: readonly LockChange[]
    /** Servers whose approval covers only their tools. */
    readonly toolsOnly?: readonly string[]
  }
  /** Warnings about config and lockfiles; also printed on stderr. */
  readonly warnings?: readonly string[]
  /** Names and globs of allow, deny and pinned that match no tool. */
  readonly unmatched?: readonly UnmatchedInConfig[]
  /** true with `--strict`: a deny rule that matches no tool is a problem. */
  readonly isStrict?: boolean
  readonly nextSteps: readonly string[]
}

/** A deny rule that certainly denies nothing. */
export function isFailingGuard({ list, unknown }: UnmatchedInConfig): boolean {
  return list === 'deny' && unknown.length === 0
}

/** The state of one server, and what to do about it. */
export interface ServerReport {
  readonly server: string
  readonly state: string
  readonly reason?: string
  /** What to do about it. */
  readonly step?: string
  readonly connectMs?: number
  readonly tools: number
  readonly tokens: number
  readonly warnings: readonly string[]
}

/** What `serverReport()` cannot read from the registry. */
export interface ServerMeasures {
  /** What the definitions of each server cost. */
  readonly tokens: ReadonlyMap<string, number>
  /** How long servers had to start. */
  readonly waitedMs: number
  /** Why a server that was not started could not start anyway. */
  readonly fault?: string | undefined
}

export function serverReport(
  status: ServerStatus,
  { config, lockfile, servers, events }: ReadyRegistry,
  { tokens, waitedMs, fault }: ServerMeasures,
): ServerReport {
  const { server } = status
  const isLocked = lockfile?.servers.has(server) === true
  const took = connectTime(server, events)
  const condition = conditionOf(status, config.servers[server], waitedMs)
  const warnings = [...new Set(warningsOf(server, events))].slice(0, MAX_WARNINGS)
  // Without what the reason already says.
  const isSaid = (warning: string) => condition.reason?.includes(mendServer(server, warning).fault)
  return {
    server,
    ...condition,
    ...(took === undefined ? {} : { connectMs: Math.round(took) }),
    tools: servers.tools(server)?.length ?? 0,
    tokens: tokens.get(server) ?? 0,
    warnings: [
      ...[...warnings, ...(fault === undefined ? [] : [fault])].filter((warning) => !isSaid(warning)),
      ...secretsOf(config.servers[server]),
      ...(isLocked ? uncoveredOf(config.servers[server]) : []),
    ],
  }
}

function secretsOf(config: ServerConfig = {}): string[] {
  const places = literalSecrets(config)
  return places.length === 0 ? [] : [`${places.join(', ')} looks like a secret; use a \${VARIABLE} instead`]
}

/** What the approval of a command cannot cover. */
function uncoveredOf(config: ServerConfig = {}): string[] {
  const variables = commandWords(config).flatMap((word) => word.match(/\$\{(?:\w+:(?!-))?[\w.]+/g) ?? [])
  const names = [...new Set(variables)].map((variable) => `${variable}}`)
  if (names.length === 0) return []
  return [`its approval does not cover the value of ${names.join(', ')}, which decides what its command runs`]
}

const MAX_WARNINGS = 5

function warningsOf(server: string, events: readonly McpEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.server !== server) return []
    if (event.type === 'tool-invalid') return [`tool ${event.tool} cannot be used: ${event.reason}`]
    return event.type === 'server-warning' ? [event.warning] : []
  })
}

/** A server that has not answered in its time hangs, even if it has not been given up yet. */
function conditionOf(
  status: ServerStatus,
  config: ServerConfig | undefined,
  waitedMs: number,
): Pick<ServerReport, 'state' | 'reason' | 'step'> {
  const { state } = status
  if (state !== 'failed' && state !== 'connecting') return { state }
  const reason = status.state === 'failed' ? status.reason : `it did not connect within ${waitedMs} ms`
  const { fault, step, isHanging = state === 'connecting' } = mendServer(status.server, reason, config)
  return { state: isHanging ? 'hanging' : state, reason: fault, step }
}

/** How long a server took to become ready or fail. */
function connectTime(server: string, events: readonly McpEvent[]): number | undefined {
  const states = events
    .filter((event) => event.type === 'server-state')
    .filter((event) => event.server === server)
  const start = states.find(({ state }) => state === 'connecting')
  const end = states.find(
    ({ state, at }) => (state === 'ready' || state === 'failed') && start && at >= start.at,
  )
  return start && end ? end.at - start.at : undefined
}
