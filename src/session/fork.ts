import type { CallHooks } from '../call/call-scope.ts'
import { checkOptions, type OptionRules, textList, trueOrFalse, wholeNumber } from '../check-options.ts'
import type { Meter } from '../usage.ts'
import type { Activations } from './activations.ts'
import type { SessionServices } from './session-services.ts'
import { aDialect, type SessionDialect, type SessionSettings } from './settings.ts'

/** How a child session differs from its parent. */
export interface ForkOptions {
  /** Start with the parent's activations; true when absent. */
  readonly inheritActive?: boolean
  /** The only tools the child may use: names and globs. Takes precedence over inherited activations. */
  readonly tools?: readonly string[]
  /** Its own cap; the parent's when absent. */
  readonly maxActive?: number
  /** The dialect of its own model; the parent's when absent. */
  readonly dialect?: SessionDialect
}

const FORK_RULES: OptionRules<ForkOptions> = {
  inheritActive: trueOrFalse,
  tools: textList,
  maxActive: wholeNumber(),
  dialect: aDialect,
}

/** The settings of a child. Throws `config-invalid` for an unknown key or a value out of range. */
export function forkSettings(parent: SessionSettings, options: ForkOptions): SessionSettings {
  checkOptions<ForkOptions>('a fork', options, FORK_RULES)
  const { tools, maxActive = parent.maxActive, dialect = parent.dialect } = options
  // A child must pass its parent's gates and its own.
  const allowlists = tools === undefined ? parent.allowlists : [...parent.allowlists, [...tools]]
  return { ...parent, maxActive, dialect, allowlists }
}

/** The activations a child starts with: the parent's, except those it may not use, which would count against its cap. */
export function forkActivations(
  parent: Activations,
  { inheritActive = true }: ForkOptions,
  settings: SessionSettings,
  { viewpoints }: Pick<SessionServices, 'viewpoints'>,
): Activations {
  if (!inheritActive) return []
  const { policy, allowlists } = settings
  const view = viewpoints.of(settings, { ...policy, allowlists }).current()
  return parent.filter(({ name }) => {
    const entry = view.snapshot.get(name)
    return entry === undefined || view.denial(entry) === undefined
  })
}

/** What a session inherits from the calls during which it is forked. */
export interface Inherited {
  readonly hooks: readonly CallHooks[]
  readonly meters: readonly Meter[]
}

/** What a child inherits from all of these, each once. */
export function inheritedFrom(all: readonly Inherited[]): Inherited {
  return {
    hooks: [...new Set(all.flatMap(({ hooks }) => hooks))],
    meters: [...new Set(all.flatMap(({ meters }) => meters))],
  }
}
