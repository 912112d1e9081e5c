import type { Mode, Policy, Session, ToolRegistry, UsageMemory } from '@toolcrib/core'
import type { Profile } from '@toolcrib/mcp'
import type { Store } from '@toolcrib/mcp/stores'

/**
 * Meta-tools of the library that are not needed here: the gateway has a `read_result` of its own, which reads what a token
 * was answered, and lists wait for servers themselves.
 */
const HIDDEN_META_TOOLS = ['read_result', 'wait_for_servers']

/**
 * How a session shows tools that were found: through the dispatch tools (`doors`) and a list that never changes, or in a
 * list that grows.
 */
export type Activation = 'doors' | 'list'

/** What the clients of one profile may see and call. */
export class ProfileView {
  /** The name of the profile; undefined for `/mcp` itself. */
  readonly profile: string | undefined
  readonly #registry: ToolRegistry
  readonly #settings: Profile
  readonly #mode: Mode | undefined

  constructor(
    registry: ToolRegistry,
    { profile, settings, mode }: { profile: string | undefined; settings: Profile; mode: Mode | undefined },
  ) {
    this.#registry = registry
    this.profile = profile
    this.#settings = settings
    this.#mode = settings.mode ?? mode
  }

  /** How the profile shows what was found; undefined if it does not say. */
  get activation(): Activation | undefined {
    return this.#settings.activate
  }

  /** The most tokens of a result; undefined if the profile does not say. */
  get maxResultTokens(): number | undefined {
    return this.#settings.maxResultTokens
  }

  /** Whether anything of a server may be seen here. */
  permitsServer(server: string): boolean {
    const { servers } = this.#settings
    const allowed = this.#registry.policy.filter?.allowedMcpServers
    return [servers, allowed].every((list) => list === undefined || matches(list, server))
  }

  /** Opens a session that sees what this view permits. With a store it continues where it stopped. */
  openSession({
    id,
    store,
    memory,
    activation = 'doors',
  }: {
    readonly id: string
    readonly memory?: UsageMemory | undefined
    readonly store?: Store | undefined
    readonly activation?: Activation
  }): Promise<Session> {
    const { allow, pinned } = this.#settings
    return this.#registry.openSession({
      id,
      strategy: activation === 'doors' ? 'dispatch' : 'append',
      // A client may have several conversations in one session.
      searchAgain: 'all',
      callReadTool: true,
      ...(memory ? { memory } : {}),
      policy: this.#policy(),
      ...(store ? { store } : {}),
      ...(this.#mode === undefined ? {} : { mode: this.#mode }),
      ...(pinned === undefined ? {} : { pinned }),
      // The registry's own list applies too.
      ...(allow !== undefined && this.#registry.policy.allow !== undefined ? { tools: allow } : {}),
    })
  }

  /** The registry's policy, narrowed by the profile. */
  #policy(): Policy {
    const { policy } = this.#registry
    const { servers, allow, deny = [], ask } = this.#settings
    const allowed = policy.filter?.allowedMcpServers
    const within = (list: readonly string[] | undefined) =>
      servers && list ? servers.filter((name) => matches(list, name)) : (servers ?? list)
    const permitted = within(allowed)
    const apis = within(policy.filter?.allowedApis)
    return {
      ...policy,
      ...(allow === undefined || policy.allow !== undefined ? {} : { allow }),
      deny: [...(policy.deny ?? []), ...deny, ...HIDDEN_META_TOOLS],
      // The registry's own list applies too.
      ...(ask === undefined ? {} : { ask }),
      filter: {
        ...policy.filter,
        ...(permitted === undefined ? {} : { allowedMcpServers: permitted }),
        ...(apis === undefined ? {} : { allowedApis: apis }),
      },
    }
  }
}

function matches(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const pieces = pattern.split('*').map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(`^${pieces.join('.*')}$`).test(name)
  })
}
