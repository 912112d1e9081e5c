import type { Activations, Caps } from './activations.ts'
import type { Told } from './conversation.ts'
import type { PromptPrefix, SharedPrefixes } from './prompt-prefix.ts'
import type { Allowlists } from './state.ts'

/** A change of a value: pure, because a store may apply it again to a newer one. */
export type ChangeOf<Value> = (value: Value) => Value

/** What a merged value was before. */
export interface Past<Value> {
  readonly local: Value
  /** What the store had before this write; `known` is what it had last time. */
  readonly stored: Value
  readonly known: Value
}

/** Called when a value was replaced by the store's. */
export type OnMerge<Value> = (now: Value, past: Past<Value>) => void

/** A value of a session, which a store may have as well. */
export interface Kept<Value> {
  readonly value: Value
  /** Whether there is a store. */
  readonly isKept: boolean
  apply(change: ChangeOf<Value>): void
  /** Replaces what the store has with the value as it is here. */
  replace(): void
  /** Writes what is unsaved, and waits for a limited time. Never rejects: a failure is an event. */
  save(): Promise<void>
  /** Applies what others have written since. Never rejects. */
  refresh(): Promise<void>
  /** Writes everything, or throws `store-unavailable`. */
  close(): Promise<void>
}

/** Makes the values of a session. */
export interface Keeper {
  active(
    value: Activations,
    options: { readonly caps: Caps; readonly allowlists: Allowlists; readonly onMerge: OnMerge<Activations> },
  ): Kept<Activations>
  shown(names: readonly string[]): Kept<readonly string[]>
  told(value: readonly Told[], onMerge: OnMerge<readonly Told[]>): Kept<readonly Told[]>
  prefix(
    value: PromptPrefix | undefined,
    of: { readonly settings: string | undefined; readonly prefixes: SharedPrefixes },
  ): Kept<PromptPrefix | undefined>
}

class WithoutStore<Value> implements Kept<Value> {
  readonly isKept = false
  value: Value

  constructor(value: Value) {
    this.value = value
  }

  apply(change: ChangeOf<Value>): void {
    this.value = change(this.value)
  }

  replace(): void {}
  async save(): Promise<void> {}
  async refresh(): Promise<void> {}
  async close(): Promise<void> {}
}

const keep = <Value>(value: Value) => new WithoutStore(value)

/** Keeps nothing: most sessions have no store, and need no code for one. */
export const NO_KEEPER: Keeper = { active: keep, shown: keep, told: keep, prefix: keep }
