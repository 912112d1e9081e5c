import type { Session, UsageMemory } from '@toolcrib/core'
import type { Profile } from '@toolcrib/mcp'
import type { Store } from '@toolcrib/mcp/stores'
import type { Principal } from '../access/principal.ts'
import type { GatewayOptions, Limits } from '../gateway-options.ts'
import { ExpiringStore } from '../legacy/session-records.ts'
import { ToolNames } from '../lists/tool-names.ts'
import { type Activation, ProfileView } from './profile-view.ts'

/** What each client sees: the view of its profile, the names of tools, and its session with the registry. */
export class GatewaySessions {
  readonly #options: GatewayOptions
  readonly #store: Store | undefined
  readonly #limits: Pick<Limits, 'sessionIdleMs'>
  readonly #warn: (warning: string) => void
  readonly #views = new Map<string | undefined, ProfileView>()
  /** The profile of each open session. A session may be reopened while it is still closing. */
  readonly #profiles = new Map<string, { readonly session: Session; readonly profile: string }>()
  #settings: Readonly<Record<string, Profile>>
  /** Whether there are, or have been, several principals. */
  isShared: boolean
  readonly #unsubscribe: () => void
  #names: ToolNames | undefined

  constructor(
    options: GatewayOptions,
    {
      store,
      limits,
      warn,
    }: {
      readonly store: Store | undefined
      readonly limits: Pick<Limits, 'sessionIdleMs'>
      readonly warn: (warning: string) => void
    },
  ) {
    this.#options = options
    this.#settings = options.profiles ?? {}
    this.isShared = options.oauth !== undefined || hasSeveralClients(options.tokens)
    this.#store = store
    this.#limits = limits
    this.#warn = warn
    this.#unsubscribe = options.registry.subscribe(({ type }) => {
      if (CHANGES.includes(type)) this.#names = undefined
    })
  }

  /** The current names of tools. */
  get names(): ToolNames {
    this.#names ??= new ToolNames(this.#options.registry, this.#options.names ?? 'prefixed')
    return this.#names
  }

  /** What a principal sees under a profile; undefined if the profile does not exist or is not for this principal. */
  view(profile: string | undefined, principal: Principal): ProfileView | undefined {
    const wanted = profile ?? principal.profile
    if (principal.profiles && !(wanted !== undefined && principal.profiles.includes(wanted))) return undefined
    const known = this.#views.get(wanted)
    if (known) return known
    const { registry, mode } = this.#options
    if (wanted !== undefined && !Object.hasOwn(this.#settings, wanted)) return undefined
    const settings = (wanted === undefined ? undefined : this.#settings[wanted]) ?? {}
    const view = new ProfileView(registry, { profile: wanted, settings, mode })
    this.#views.set(wanted, view)
    return view
  }

  /** Replaces the tokens and profiles. Views of changed profiles are no longer current. */
  replace({ tokens, profiles = {} }: Pick<GatewayOptions, 'tokens' | 'profiles'>): void {
    this.isShared ||= hasSeveralClients(tokens)
    for (const name of [...this.#views.keys()]) {
      if (name === undefined) continue
      const [before, now] = [this.#settings, profiles].map((all) =>
        Object.hasOwn(all, name) ? JSON.stringify(all[name]) : undefined,
      )
      if (before !== now) this.#views.delete(name)
    }
    this.#settings = profiles
  }

  /** Whether a view is what clients of its profile see now. */
  isCurrent(view: ProfileView): boolean {
    return this.#views.get(view.profile) === view
  }

  /**
   * Opens a session. If its list grows, a session that is reopened with the same id continues where it stopped; other
   * lists never change, so nothing is kept for them.
   */
  async open(
    view: ProfileView,
    id: string,
    principal: Principal | undefined,
    activation: Activation = 'doors',
  ): Promise<ClientSession> {
    const store = this.#store
    const kept =
      store && activation === 'list' ? new ExpiringStore(store, this.#limits.sessionIdleMs) : undefined
    const memory = this.#memoryOf(principal)
    const session = await view.openSession({ id: sessionIdOf(id), store: kept, memory, activation })
    this.#profiles.set(session.id, { session, profile: view.profile ?? '' })
    return new ClientSession(view, session, principal, this)
  }

  /**
   * If there are several principals, each has its own memory. The registry's memory belongs to the user who started the
   * process.
   */
  #memoryOf(principal: Principal | undefined): UsageMemory | undefined {
    const { memory } = this.#options.registry
    return memory && principal && this.isShared ? memory.of(`${memory.owner}/${principal.id}`) : memory
  }

  async end({ session }: ClientSession): Promise<void> {
    if (this.#profiles.get(session.id)?.session === session) this.#profiles.delete(session.id)
    // What the store does not accept is lost with this process; the session ends in any case.
    await session.close().catch((error) => this.#warn(String(error)))
  }

  /** Deletes the stored state of a session that its client ended. */
  async forget(id: string): Promise<void> {
    await this.#store?.delete(`session:${sessionIdOf(id)}`).catch((error) => this.#warn(String(error)))
  }

  /** The profile of one of this gateway's sessions, empty if it has none; undefined for other sessions. */
  profileOf(sessionId: string | undefined): string | undefined {
    return this.#profiles.get(sessionId ?? '')?.profile
  }

  close(): void {
    this.#unsubscribe()
  }
}

/** A client's session with the registry, what its profile lets it see, and the current names of tools. */
export class ClientSession {
  readonly view: ProfileView
  readonly session: Session
  readonly principal: Principal | undefined
  readonly #sessions: Pick<GatewaySessions, 'names'>

  constructor(
    view: ProfileView,
    session: Session,
    principal: Principal | undefined,
    sessions: Pick<GatewaySessions, 'names'>,
  ) {
    this.view = view
    this.session = session
    this.principal = principal
    this.#sessions = sessions
  }

  get names(): ToolNames {
    return this.#sessions.names
  }
}

/** Events after which tools may have other names. */
const CHANGES = ['tool-registered', 'tool-unregistered', 'server-synced']

function sessionIdOf(id: string): string {
  return `gateway:${id}`
}

function hasSeveralClients(tokens: GatewayOptions['tokens'] = []): boolean {
  return tokens.filter(({ operator }) => !operator).length > 1
}
