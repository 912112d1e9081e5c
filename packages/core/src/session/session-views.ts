import type { Entry } from '../registry/entry.ts'
import type { View } from '../registry/view.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import { type CallResult, UNTRUSTED_NOTE } from '../tool.ts'
import { type Told, tell, toldSince } from './conversation.ts'
import type { Kept, Past } from './kept.ts'
import { beginPrefix, type PromptPrefix, type SentRequest } from './prompt-prefix.ts'
import type { SessionDialect } from './settings.ts'
import type { Strategy } from './surface.ts'

/** A prefix that requests go on from, and what was told since. */
export interface Continued {
  readonly prefix: PromptPrefix
  readonly told: Told
}

/**
 * How one session sees the catalogue: like others with the same settings, and after its first request as in that
 * request. Looking changes nothing: where a new prefix is needed, there is none until `begin`.
 */
export class SessionViews implements Pick<ViewBuilder, 'policy' | 'current' | 'explain'> {
  /** Whether tools that join late are called through `call_tool`, although the provider defers the others. */
  readonly callsLateTools: boolean
  /** Whether each request declares them instead, because `call_tool` is denied. */
  readonly declaresLateTools: boolean
  readonly #builder: Pick<ViewBuilder, 'policy' | 'current' | 'explain'>
  readonly #prefix: Kept<PromptPrefix | undefined>
  readonly #told: Kept<readonly Told[]>
  /** What the dialect does best. */
  readonly #bestStrategy: Strategy
  /** How many tools the provider takes in one request. */
  readonly #maxTools: number
  #hostTools = 0
  #divided: { readonly of: View; readonly by: PromptPrefix; readonly view: View | undefined } | undefined
  /** The view all of whose tools these requests declare. */
  #gathered: { readonly view: View; readonly lateTools: Told['lateTools'] } | undefined

  constructor(
    builder: Pick<ViewBuilder, 'policy' | 'current' | 'explain'>,
    kept: { prefix: Kept<PromptPrefix | undefined>; told: Kept<readonly Told[]> },
    dialect: Partial<SessionDialect> = {},
  ) {
    const { strategy = 'append', maxTools = Number.POSITIVE_INFINITY, dispatchesLateTools = false } = dialect
    this.#builder = builder
    this.#prefix = kept.prefix
    this.#told = kept.told
    this.#bestStrategy = strategy
    this.#maxTools = maxTools
    this.callsLateTools = dispatchesLateTools && this.#canDispatch
    this.declaresLateTools = dispatchesLateTools && !this.callsLateTools
  }

  get policy(): ViewBuilder['policy'] {
    return this.#builder.policy
  }

  current(): View {
    const view = this.#builder.current()
    return this.#divide(view) ?? view
  }

  /** The prefix that the next request begins with; undefined where it begins a new one. */
  get prefix(): PromptPrefix | undefined {
    return this.#divide(this.#builder.current()) && this.#prefix.value
  }

  /** The prefix with what was told since. */
  get continued(): Continued | undefined {
    const { prefix } = this
    return prefix && { prefix, told: toldSince(this.#told.value, prefix.start) }
  }

  /** What the requests so far began with, and what came since, as plain JSON. */
  get sent(): SentRequest | undefined {
    const prefix = this.#prefix.value
    if (prefix === undefined) return undefined
    const { of: _, ...told } = toldSince(this.#told.value, prefix.start)
    return { ...prefix.sent, ...told }
  }

  /** The most tools that the host has added to one request. */
  get hostTools(): number {
    return this.#hostTools
  }

  /** Leaves room for tools that the host adds to requests, where the provider limits their number. */
  leaveRoom(hostTools: number): void {
    if (hostTools <= this.#hostTools) return
    this.#hostTools = hostTools
    this.#divided = undefined
  }

  /** Begins the requests of the conversation anew. */
  begin(prefix: PromptPrefix): void {
    this.#prefix.apply(beginPrefix(prefix, this.#prefix.value))
    this.#told.apply((told) => tell(told, { from: prefix.start, to: prefix.start }))
  }

  /** Takes over the prefix that another replica has begun meanwhile. */
  noteMerge(told: readonly Told[], { local }: Past<readonly Told[]>): void {
    const newest = told.at(-1)?.of
    if (newest !== local.at(-1)?.of && newest !== this.#prefix.value?.id) void this.#prefix.refresh()
  }

  /** Declares the tools that joined since the first request, where the provider defers. */
  gather(isAvailable: (entry: Entry) => boolean, isActive: (name: string) => boolean): void {
    const { continued } = this
    const view = this.current()
    if (
      !continued ||
      (this.#gathered?.view === view && this.#gathered.lateTools === continued.told.lateTools)
    )
      return
    const { declaresLateTools } = this
    let isComplete = true
    const isReady = (entry: Entry) => {
      const isThere = isAvailable(entry)
      isComplete &&= isThere
      return isThere
    }
    const options = { isAvailable: isReady, isActive, declaresLateTools }
    const told = continued.prefix.gather(view, continued.told, options)
    this.#tell(continued.told, told)
    if (isComplete) this.#gathered = { view, lateTools: told.lateTools }
  }

  /** Returns the servers that joined or left since this was last asked: the description of the search still names the old ones. */
  takeServerChanges(): { readonly joined: readonly string[]; readonly left: readonly string[] } {
    const { continued } = this
    if (!continued) return { joined: [], left: [] }
    const { told } = continued
    const servers = this.current().serverNames()
    if (servers === told.servers) return { joined: [], left: [] }
    const [known, current] = [new Set(told.servers), new Set(servers)]
    const joined = servers.filter((server) => !known.has(server))
    const left = told.servers.filter((server) => !current.has(server))
    if (joined.length + left.length > 0) this.#tell(told, { ...told, servers })
    return { joined, left }
  }

  /**
   * Adds the warning about servers without `trust` to the first result that quotes one, unless the model has it: the
   * first such server may join late.
   */
  warn(results: CallResult[]): CallResult[] {
    const { continued } = this
    const quoting =
      !continued || continued.told.isWarned ? -1 : results.findIndex(({ untrusted }) => untrusted)
    const result = results[quoting]
    if (!continued || !result?.untrusted) return results
    this.#tell(continued.told, { ...continued.told, isWarned: true })
    return results.with(quoting, { ...result, untrusted: { ...result.untrusted, note: UNTRUSTED_NOTE } })
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

  /** Whether a request may declare this many tools in addition to the host's. */
  hasRoomFor(tools: number): boolean {
    return tools + this.#hostTools <= this.#maxTools
  }

  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string {
    const isDeferred = this.current().deferred.has(entry.name)
    if (isDeferred === this.#builder.current().deferred.has(entry.name)) return this.#builder.explain(entry)
    return isDeferred
      ? 'it was not shown in the first request of the conversation, whose bytes stay'
      : 'it was shown in the first request of the conversation, whose bytes stay'
  }

  get #canDispatch(): boolean {
    return this.policy.denialOfMetaTool('call_tool') === undefined
  }

  /** The view as the prefix divides it; undefined without one, and where a new one must begin. */
  #divide(view: View): View | undefined {
    const prefix = this.#prefix.value
    if (prefix === undefined) return undefined
    if (this.#divided?.of !== view || this.#divided.by !== prefix) {
      const told = toldSince(this.#told.value, prefix.start)
      this.#divided = { of: view, by: prefix, view: prefix.divide(view, told, this) }
    }
    return this.#divided.view
  }

  #tell(from: Told, to: Told): void {
    if (from !== to) this.#told.apply((told) => tell(told, { from, to }))
  }
}
