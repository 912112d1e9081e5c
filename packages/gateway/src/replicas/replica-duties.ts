import { createHash } from 'node:crypto'
import type { ToolRegistry } from '@toolcrib/core'
import type { ConnectedServers, Schedule } from '@toolcrib/mcp'
import type { GatewayLog } from '../gateway-log.ts'
import type { Json } from '../json-rpc.ts'
import type { LegacySessions } from '../legacy/legacy-sessions.ts'
import type { ModernCalls } from '../modern/modern-calls.ts'
import type { ModernRequest } from '../modern/pending-call.ts'
import type { RequestStates } from '../modern/request-states.ts'
import type { Replicas, ReplicaWork } from './replicas.ts'

/** What other replicas ask about. */
export interface ReplicaDutiesOptions {
  readonly registry: ToolRegistry
  readonly servers: Pick<ConnectedServers, 'tools' | 'refresh' | 'status'>
  readonly sessions: Pick<LegacySessions, 'take' | 'ended' | 'wanted' | 'rewrite'>
  readonly calls: Pick<ModernCalls, 'resume' | 'hasSealed'>
  readonly states: Pick<RequestStates, 'refresh'>
  readonly replicas: Pick<Replicas, 'listChanged'>
  readonly schedule: Schedule
  readonly log: Pick<GatewayLog, 'warn'>
  readonly onReload: (() => void) | undefined
}

/** How long a list must be stable, and its catalogue saved, before the other replicas are notified. */
const SETTLE_MS = 1_500

/** Handles requests of other replicas, and notifies them of lists that changed here. */
export class ReplicaDuties implements ReplicaWork {
  readonly #options: ReplicaDutiesOptions
  readonly #unsubscribe: () => void
  readonly #pending = new Map<string, () => void>()
  /** The list of each server that was announced last, here or by another replica. */
  readonly #announced = new Map<string, string>()

  constructor(options: ReplicaDutiesOptions) {
    this.#options = options
    this.#unsubscribe = options.registry.subscribe((event) => {
      if (event.type === 'server-synced') this.#announceLater(event.server)
    })
  }

  take(session: string, message: Json): void {
    this.#options.sessions.take(session, message).catch((error) => this.#options.log.warn(String(error)))
  }

  ended(session: string): void {
    this.#options.sessions.ended(session).catch((error) => this.#options.log.warn(String(error)))
  }

  wanted(session: string): boolean {
    return this.#options.sessions.wanted(session)
  }

  resume(call: string, boundTo: string, request: ModernRequest): Promise<Json> | undefined {
    return this.#options.calls.resume(call, boundTo, request)
  }

  hasSealed(state: string, call: string, boundTo: string): Promise<boolean> {
    return this.#options.calls.hasSealed(state, call, boundTo)
  }

  listChanged(server: string, digest: string): void {
    const own = this.#digestOf(server)
    if (own === undefined) return
    this.#announced.set(server, digest)
    if (own !== digest) this.#refresh(server)
  }

  reloaded(): void {
    this.#options.onReload?.()
  }

  /** Announcements were missed: reads lists and files again. The store may have lost more than announcements. */
  missed(): void {
    this.#options.states.refresh()
    void this.#options.sessions.rewrite().catch((error) => this.#options.log.warn(String(error)))
    const { servers } = this.#options
    for (const { server } of servers.status()) this.#refresh(server)
    this.reloaded()
  }

  close(): void {
    this.#unsubscribe()
    for (const stop of this.#pending.values()) stop()
  }

  #refresh(server: string): void {
    this.#options.servers.refresh(server).catch((error) => this.#options.log.warn(String(error)))
  }

  #announceLater(server: string): void {
    if (this.#pending.has(server)) return
    const stop = this.#options.schedule(SETTLE_MS, () => {
      this.#pending.delete(server)
      const digest = this.#digestOf(server)
      // All replicas know what was announced last.
      if (digest === undefined || digest === this.#announced.get(server)) return
      this.#announced.set(server, digest)
      this.#options.replicas.listChanged(server, digest)
    })
    this.#pending.set(server, stop)
  }

  /** Equal for equal lists in any order; undefined if no list is known. */
  #digestOf(server: string): string | undefined {
    const tools = this.#options.servers.tools(server)
    if (!tools) return undefined
    const texts = tools.map((tool) => JSON.stringify(tool.listed ?? tool)).sort()
    return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 32)
  }
}
