import { createHash } from 'node:crypto'
import type { GatewayServices } from './gateway-services.ts'
import type { Json } from './json-rpc.ts'
import type { ModernRequest } from './pending-call.ts'
import type { ReplicaWork } from './replicas.ts'

/** Receives messages of older clients that arrived at another replica. */
export interface RelayTarget {
  take(session: string, message: Json): Promise<void>
  /** The client ended its session at another replica. */
  ended(session: string): Promise<void>
  /** Whether a session is open here. If so, it is written to the store again. */
  wanted(session: string): boolean
  /** Writes its sessions to the store again, which may have lost them. */
  rewrite(): Promise<void>
}

/** How long a list must be stable, and its catalogue saved, before the other replicas are notified. */
const SETTLE_MS = 1_500

/** Handles requests of other replicas, and notifies them of lists that changed here. */
export class ReplicaDuties implements ReplicaWork {
  readonly #services: GatewayServices
  readonly #unsubscribe: () => void
  readonly #pending = new Map<string, () => void>()
  /** The list of each server that was announced last, here or by another replica. */
  readonly #announced = new Map<string, string>()

  constructor(services: GatewayServices) {
    this.#services = services
    this.#unsubscribe = services.options.registry.subscribe((event) => {
      if (event.type === 'server-synced') this.#announceLater(event.server)
    })
  }

  take(session: string, message: Json): void {
    this.#services.relayTarget?.take(session, message).catch((error) => this.#services.warn(String(error)))
  }

  ended(session: string): void {
    this.#services.relayTarget?.ended(session).catch((error) => this.#services.warn(String(error)))
  }

  wanted(session: string): boolean {
    return this.#services.relayTarget?.wanted(session) === true
  }

  resume(call: string, boundTo: string, request: ModernRequest): Promise<Json> | undefined {
    return this.#services.modernCalls.resume(call, boundTo, request)
  }

  hasSealed(state: string, call: string, boundTo: string): Promise<boolean> {
    return this.#services.modernCalls.hasSealed(state, call, boundTo)
  }

  listChanged(server: string, digest: string): void {
    const own = this.#digestOf(server)
    if (own === undefined) return
    this.#announced.set(server, digest)
    if (own !== digest) this.#refresh(server)
  }

  reloaded(): void {
    this.#services.options.onReload?.()
  }

  /** Announcements were missed: reads lists and files again. The store may have lost more than announcements. */
  missed(): void {
    this.#services.states.refresh()
    void this.#services.relayTarget?.rewrite().catch((error) => this.#services.warn(String(error)))
    const { servers } = this.#services.options
    for (const { server } of servers.status()) this.#refresh(server)
    this.reloaded()
  }

  close(): void {
    this.#unsubscribe()
    for (const stop of this.#pending.values()) stop()
  }

  #refresh(server: string): void {
    this.#services.options.servers.refresh(server).catch((error) => this.#services.warn(String(error)))
  }

  #announceLater(server: string): void {
    if (this.#pending.has(server)) return
    const stop = this.#services.schedule(SETTLE_MS, () => {
      this.#pending.delete(server)
      const digest = this.#digestOf(server)
      // All replicas know what was announced last.
      if (digest === undefined || digest === this.#announced.get(server)) return
      this.#announced.set(server, digest)
      this.#services.replicas?.listChanged(server, digest)
    })
    this.#pending.set(server, stop)
  }

  /** Equal for equal lists in any order; undefined if no list is known. */
  #digestOf(server: string): string | undefined {
    const tools = this.#services.options.servers.tools(server)
    if (!tools) return undefined
    const texts = tools.map((tool) => JSON.stringify(tool.listed ?? tool)).sort()
    return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 32)
  }
}
