import type { Entry } from '../registry/entry.ts'
import type { View, Viewpoint } from '../registry/view.ts'
import type { FirstRequest } from './first-request.ts'
import type { SessionDialect } from './settings.ts'

/** How one session sees the catalogue: as others with the same settings, and from its first request on as in that one. */
export class SessionViewpoint implements Pick<Viewpoint, 'policy' | 'current' | 'explain'> {
  /** Whether tools that join late are called through `call_tool` beside native deferral. */
  readonly callsLateTools: boolean
  /** Whether each request declares them instead, because `call_tool` is denied. */
  readonly declaresLateTools: boolean
  readonly #viewpoint: Viewpoint
  /** How many tools the provider takes in one request, those that join later included. */
  readonly #maxTools: number
  #first: FirstRequest | undefined
  #steady: { readonly of: View; readonly view: View } | undefined

  constructor(viewpoint: Viewpoint, dialect: SessionDialect | undefined) {
    this.#viewpoint = viewpoint
    const { maxTools = Number.POSITIVE_INFINITY, dispatchesLateTools = false } = dialect ?? {}
    this.callsLateTools = dispatchesLateTools && viewpoint.policy.denialOfMetaTool('call_tool') === undefined
    this.declaresLateTools = dispatchesLateTools && !this.callsLateTools
    this.#maxTools = this.callsLateTools ? Number.POSITIVE_INFINITY : maxTools
  }

  get policy(): Viewpoint['policy'] {
    return this.#viewpoint.policy
  }

  /** The first request, once it was made. */
  get first(): FirstRequest | undefined {
    return this.#first
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

  current(): View {
    const view = this.#viewpoint.current()
    if (this.#first === undefined) return view
    if (this.#steady?.of !== view) this.#steady = { of: view, view: this.#divide(view, this.#first) }
    return this.#steady.view
  }

  #divide(view: View, first: FirstRequest): View {
    if (!first.hasSearch) {
      // What is deferred needs a search, which has to be shown, whatever that costs.
      if (view.deferred.size > 0) this.#first = undefined
      return view
    }
    const divided = first.divide(view)
    const { strategy } = first.surface
    if (strategy !== 'native' || first.countWith(divided) < this.#maxTools) return divided
    // The provider takes no more tools: another strategy has to begin, whatever that costs.
    this.#first = undefined
    return view
  }
}
