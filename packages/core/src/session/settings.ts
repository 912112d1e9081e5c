import type { ValueCheck } from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { SearchStyle, SearchToolName } from '../meta-tools/search-session.ts'
import type { ModeSettings } from '../registry/mode.ts'
import type { Policy } from '../registry/policy.ts'
import type { UsageMemory } from '../search/memory/usage-memory.ts'
import type { Searcher } from '../search/searcher.ts'
import type { Caps } from './activations.ts'
import type { Strategy } from './surface.ts'

/** What a session needs to know about a provider's dialect: how a surface grows there. */
export interface SessionDialect {
  readonly name?: string
  readonly strategy: Strategy
  /** How many tools the provider takes in one request; no limit when absent. */
  readonly maxTools?: number
  /**
   * True when a native request never declares tools that join after the first one: they are called through `call_tool`,
   * which is shown from the start.
   */
  readonly dispatchesLateTools?: boolean
}

/** The rule for options that take a dialect: only these two fields are checked. */
export const aDialect: ValueCheck = {
  expected: 'a dialect, such as anthropic(): an object whose strategy is append, dispatch or native',
  accepts: (value) => {
    if (!isRecord(value)) return false
    const { strategy, maxTools } = value
    const isLimit = maxTools === undefined || (typeof maxTools === 'number' && maxTools > 0)
    return isLimit && ['append', 'dispatch', 'native'].includes(strategy as string)
  },
}

/** The complete settings of a session: the registry's options, overridden by the session's own. */
export interface SessionSettings<Dialect extends SessionDialect = SessionDialect> extends ModeSettings, Caps {
  readonly pinned: readonly string[]
  readonly searchTool: SearchToolName
  readonly searchStyle: SearchStyle
  /** 0 = no limit. */
  readonly searchesPerMinute: number
  readonly searcher: Searcher
  readonly searchAgain: 'new' | 'all'
  readonly callReadTool: boolean
  readonly memory: UsageMemory | false
  readonly strategy: Strategy | 'auto'
  readonly dialect?: Dialect | undefined
  readonly policy: Policy
  /** The host's value; not part of a saved state. */
  readonly context?: unknown
  /** The allowlists of the session and of those it was forked from. */
  readonly allowlists: readonly (readonly string[])[]
}

/** Names of tools, as a method of a session takes them. Throws `config-invalid` for anything else. */
export function listOf(names: unknown, method: string): readonly string[] {
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return [...new Set(names)]
  throw new ToolcribError(
    'config-invalid',
    `${method}() takes an array of tool names, such as ["mcp__github__search"]`,
  )
}
