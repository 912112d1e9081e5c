import type { SearchStyle, SearchToolName } from '../meta-tools/search-session.ts'
import type { ModeSettings } from '../registry/mode.ts'
import type { Policy } from '../registry/policy.ts'
import type { Searcher } from '../search/searcher.ts'
import type { Caps } from './activations.ts'
import type { Strategy } from './surface.ts'

/** The least a session needs to know of a provider's dialect: how a surface grows there. */
export interface SessionDialect {
  readonly strategy: Strategy
  /** How many tools the provider takes in one request; no limit when absent. */
  readonly maxTools?: number
}

/** Everything a session decides by, with no gaps: the registry's options, overridden by the session's own. */
export interface SessionSettings<Dialect extends SessionDialect = SessionDialect> extends ModeSettings, Caps {
  readonly pinned: readonly string[]
  readonly searchTool: SearchToolName
  readonly searchStyle: SearchStyle
  /** 0 = no limit. */
  readonly searchesPerMinute: number
  readonly searcher: Searcher
  readonly strategy: Strategy | 'auto'
  readonly dialect?: Dialect | undefined
  readonly policy: Policy
  /** What the sessions it was forked from, and it itself, are limited to. */
  readonly allowlists: readonly (readonly string[])[]
}
