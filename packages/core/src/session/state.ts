import { hashText } from '../json.ts'
import type { Store } from '../store/store.ts'
import type { Activation, Activations } from './activations.ts'

/** A session as plain JSON: what `toJSON()` returns and `openSession({ state })` takes. */
export interface SessionState {
  readonly version: 1
  readonly id: string
  /** In the order they were activated. */
  readonly activations: readonly Activation[]
  /**
   * What the requests of its conversation begin with; absent before the first one, and without a dialect. Long lists of
   * definitions are named by their hash: the registry has them while a session uses them, and so has the session's store.
   */
  readonly firstRequest?: Readonly<Record<string, unknown>>
  /** The tools that it showed while auto mode was not lazy: they stay shown. */
  readonly shown?: readonly string[]
  /** What a forked session is limited to, besides its policy. */
  readonly allowlists?: Allowlists
  /** Ties the allowlists of a forked session to its id, so that a state that was edited is refused. */
  readonly seal?: string
}

export type Allowlists = readonly (readonly string[])[]

/** Writes a session's state. */
export function writeState(
  id: string,
  activations: Activations,
  allowlists: Allowlists,
  {
    shown = [],
    firstRequest,
  }: { readonly shown?: readonly string[]; readonly firstRequest?: object | undefined } = {},
): SessionState {
  const isSealed = allowlists.length > 0 || isForkId(id)
  return {
    version: 1,
    id,
    activations,
    ...(isSealed ? { allowlists, seal: sealOf(id, allowlists) } : {}),
    ...(shown.length > 0 ? { shown } : {}),
    ...(firstRequest ? { firstRequest: { ...firstRequest } } : {}),
  }
}

/**
 * Deletes everything that a store has of a session: a session that is opened with this id later starts empty. Close the
 * session first, because an open one is saved again with its next change.
 */
export async function deleteSession(store: Store, id: string): Promise<void> {
  await Promise.all([sessionKey(id), sentKey(id), sinceKey(id), shownKey(id)].map((key) => store.delete(key)))
}

export function sessionKey(id: string): string {
  return `session:${id}`
}

/** The following keys are shorter than that of the session itself, which bounds the length of its id. */
export function sentKey(id: string): string {
  return `sent:${id}`
}

export function sinceKey(id: string): string {
  return `since:${id}`
}

export function shownKey(id: string): string {
  return `shown:${id}`
}

/** Adds allowlists, each once. */
export function withLists(allowlists: Allowlists, more: Allowlists): Allowlists {
  const known = new Set(allowlists.map((names) => JSON.stringify(names)))
  return [...allowlists, ...more.filter((names) => !known.has(JSON.stringify(names)))]
}

/** The id of a fork starts with its parent's: `conversation/1`. */
export function isForkId(id: string): boolean {
  return /\/\d+$/.test(id)
}

// Not a signature: anyone can compute it for a state of their own. It keeps a fork from being opened without its limits by
// mistake, or by an edit that leaves the seal as it was.
export function sealOf(id: string, allowlists: Allowlists): string {
  return hashText(JSON.stringify(['allowlists', id, allowlists]))
}
