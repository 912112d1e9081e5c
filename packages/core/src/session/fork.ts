import type { AskHandler } from '../call/ask.ts'
import type { CallHooks } from '../call/call-scope.ts'
import {
  anyText,
  checkOptions,
  type OptionRules,
  textList,
  trueOrFalse,
  wholeNumber,
} from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import type { View } from '../registry/view.ts'
import type { Meter } from '../usage.ts'
import { type Activations, type Caps, withinCaps } from './activations.ts'
import { aDialect, type SessionDialect, type SessionSettings } from './settings.ts'

/** How a child session differs from its parent. */
export interface ForkOptions {
  /** The id of an earlier fork of this session, which this one continues: its scripts may wait for a person. */
  readonly id?: string
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
  id: anyText,
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

/**
 * The activations a child inherits: those of the parent that it may use, since others would count against its cap, and that
 * fit under its cap. It never had the others, so it is told of no evictions.
 */
export function forkActivations(parent: Activations, view: View, caps: Caps): Activations {
  const permitted = parent.filter(({ name }) => {
    const entry = view.snapshot.get(name)
    return entry === undefined || view.denial(entry) === undefined
  })
  const absent = permitted.map(({ name }) => name).filter((name) => !view.deferred.has(name))
  return withinCaps(permitted, caps, new Set(absent)).state
}

/** What a session inherits from the calls during which it is forked. */
export interface Inherited {
  readonly hooks: readonly CallHooks[]
  readonly onAsk: AskHandler | undefined
  readonly context: unknown
  readonly meters: readonly Meter[]
}

/** What a child inherits from all of these, each once. */
export function inheritedFrom(all: readonly Inherited[]): Inherited {
  return {
    hooks: [...new Set(all.flatMap(({ hooks }) => hooks))],
    onAsk: all.findLast(({ onAsk }) => onAsk !== undefined)?.onAsk,
    context: all.findLast(({ context }) => context !== undefined)?.context,
    meters: [...new Set(all.flatMap(({ meters }) => meters))],
  }
}

/** What a fork starts with. */
export interface Child extends Inherited {
  readonly id: string
  readonly settings: SessionSettings
  /** Whether it starts with the tools that its parent has checked out. */
  readonly inheritActive: boolean
}

/** The number of a fork with this id. Throws `config-invalid` for any other id. */
export function forkNumber(parentId: string, id: string): number {
  const number = Number(id.slice(parentId.length + 1))
  if (id === `${parentId}/${number}` && number >= 1) return number
  throw new ToolcribError('config-invalid', `"${id}" is not the id of a fork of the session "${parentId}"`)
}
