import type { Entry } from '../registry/entry.ts'
import {
  missingServersOf,
  PermittedServers,
  type ServerDirectory,
  type ServerStatus,
} from '../registry/server-directory.ts'
import type { View } from '../registry/view.ts'
import type { Viewpoint } from '../registry/viewpoint.ts'
import type { FirstRequest } from './first-request.ts'
import type { SessionDialect } from './settings.ts'
import type { Strategy } from './surface.ts'

/** How one session sees the catalogue: like others with the same settings, and after its first request as in that request. */
export class SessionViewpoint implements Pick<Viewpoint, 'policy' | 'current' | 'explain'> {
  /** Whether tools that join late are called through `call_tool`, although the provider defers the others. */
  readonly callsLateTools: boolean
  /** Whether each request declares them instead, because `call_tool` is denied. */
  readonly declaresLateTools: boolean
  readonly #viewpoint: Viewpoint
  /** What the dialect does best. */
  readonly #bestStrategy: Strategy
  /** How many tools the provider takes in one request. */
  readonly #maxTools: number
  #hostTools = 0
  #first: FirstRequest | undefined
  #steady: { readonly of: View; readonly view: View } | undefined

  constructor(viewpoint: Viewpoint, dialect: SessionDialect | undefined) {
    this.#viewpoint = viewpoint
    const {
      strategy = 'append',
      maxTools = Number.POSITIVE_INFINITY,
      dispatchesLateTools = false,
    } = dialect ?? {}
    this.#bestStrategy = strategy
    this.callsLateTools = dispatchesLateTools && this.#canDispatch
    this.declaresLateTools = dispatchesLateTools && !this.callsLateTools
    this.#maxTools = maxTools
  }

  get policy(): Viewpoint['policy'] {
    return this.#viewpoint.policy
  }

  /** The first request, once it was made. */
  get first(): FirstRequest | undefined {
    return this.#first
  }

  /** The most tools that the host has added to one request. */
  get hostTools(): number {
    return this.#hostTools
  }

  /** Leaves room for tools that the host adds to requests, where the provider limits their number. */
  leaveRoom(hostTools: number): void {
    if (hostTools <= this.#hostTools) return
    this.#hostTools = hostTools
    this.#steady = undefined
  }

  /** Whether a request may declare this many tools in addition to the host's. */
  hasRoomFor(tools: number): boolean {
    return tools + this.#hostTools <= this.#maxTools
  }

  /**
   * Chooses how surfaces grow. `auto` is what the dialect does best, or dispatch where native deferral would send more
   * tools than the provider takes: `nativeCount` returns how many. Dispatch becomes append where `call_tool` is denied,
   * because a dispatch surface would show what it cannot call.
   */
  strategyFor(wanted: Strategy | 'auto', nativeCount: () => number): Strategy {
    let strategy = wanted === 'auto' ? this.#bestStrategy : wanted
    if (wanted === 'auto' && strategy === 'native' && !this.hasRoomFor(nativeCount())) strategy = 'dispatch'
    return strategy === 'dispatch' && !this.#canDispatch ? 'append' : strategy
  }

  begin(first: FirstRequest): void {
    this.#first = first
    this.#steady = undefined
  }

  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string {
    const isDeferred = this.current().deferred.has(entry.name)
    if (isDeferred === this.#viewpoint.current().deferred.has(entry.name))
      return this.#viewpoint.explain(entry)
    return isDeferred
      ? 'it was not shown in the first request of the conversation, whose bytes stay'
      : 'it was shown in the first request of the conversation, whose bytes stay'
  }

  /**
   * The servers that `wait_for_servers` waits for; undefined where it is not shown. A session asks once: a meta-tool that
   * appears later would disturb the prompt cache of a running conversation.
   */
  awaitable(directory: ServerDirectory | undefined): ServerDirectory | undefined {
    if (directory === undefined || this.current().deferred.size > 0) return undefined
    const permitted = new PermittedServers(directory, this.policy)
    const isDenied = permitted.statuses().length === 0 && directory.statuses().length > 0
    return isDenied ? undefined : permitted
  }

  /** The servers that failed or are still connecting, and may be the reason for an unknown name, among those that the session may use. */
  missingServers(name: string, directory: ServerDirectory | undefined): readonly ServerStatus[] {
    if (directory === undefined) return []
    const permitted = new PermittedServers(directory, this.policy).statuses()
    return missingServersOf(name, permitted, this.current().serverNames().length > 0)
  }

  current(): View {
    const view = this.#viewpoint.current()
    if (this.#first === undefined) return view
    if (this.#steady?.of !== view) this.#steady = { of: view, view: this.#divide(view, this.#first) }
    return this.#steady.view
  }

  get #canDispatch(): boolean {
    return this.policy.denialOfMetaTool('call_tool') === undefined
  }

  #divide(view: View, first: FirstRequest): View {
    if (!first.hasSearch) {
      // Deferred tools need a search, which must be shown even though that invalidates the prompt cache.
      if (view.deferred.size > 0) this.#first = undefined
      return view
    }
    const divided = first.divide(view)
    const { strategy } = first.surface
    const count = this.callsLateTools ? first.sentCount : first.countWith(divided)
    if (strategy !== 'native' || this.hasRoomFor(count)) return divided
    // The provider takes no more tools: another strategy must begin, even though that invalidates the prompt cache.
    this.#first = undefined
    return view
  }
}
