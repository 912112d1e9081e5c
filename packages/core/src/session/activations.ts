/** A tool checked out by a session. */
export interface Activation {
  readonly name: string
  /** The definition it was checked out with. */
  readonly fingerprint: string
  readonly tokens: number
  /** Preloaded: outside the cap, never evicted. */
  readonly isKept: boolean
  /** Grows with every use; the smallest is the least recently used. */
  readonly lastUse: number
}

/** What one session has checked out, in the order of activation; later use does not change the order. A value. */
export type Activations = readonly Activation[]

/** What is to be checked out. */
export interface ActivationCandidate {
  readonly name: string
  readonly fingerprint: string
  readonly tokens: number
}

/** The tools that a change requests, and those that it must not evict. */
export interface Batch {
  /** Best first. */
  readonly candidates: readonly ActivationCandidate[]
  /** Never evicted: what the same batch of calls uses, or has checked out already. */
  readonly keep?: ReadonlySet<string>
  /** Active tools that no longer exist: they do not count against the caps, and are active again when the tool returns. */
  readonly absent?: ReadonlySet<string>
}

export interface Caps {
  /** How many tools may be active, preloaded ones not counted; 0 = no cap. */
  readonly maxActive: number
  /** How many tokens their definitions may take; 0 = no cap. */
  readonly maxActiveTokens: number
}

export interface ActivationChange {
  readonly state: Activations
  /** Active after the change, in the requested order. */
  readonly activated: readonly string[]
  readonly evicted: readonly Activation[]
}

/**
 * Checks out a batch. Evicts others to make room, least recently used first, but none of `keep`. If the batch is larger
 * than the room, the best are checked out; the best one always is, unless `keep` fills the cap.
 */
export function activate(state: Activations, batch: Batch, caps: Caps): ActivationChange {
  const { candidates, keep = NONE, absent = NONE } = batch
  const members = membersOf(state, candidates, keep, caps)
  const names = new Set(members.map(({ name }) => name))
  const uses = lastUseOf(state)
  const byName = new Map(state.map((activation) => [activation.name, activation]))
  // The best of a batch counts as used most recently; in the order of the surface it comes first.
  members.forEach(({ name, fingerprint, tokens }, rank) => {
    const isKept = byName.get(name)?.isKept ?? false
    byName.set(name, { name, fingerprint, tokens, isKept, lastUse: uses + members.length - rank })
  })
  const grown = [...byName.values()]
  const present = grown.filter(({ name }) => names.has(name) || !absent.has(name))
  const evicted = surplusOf(present, (name) => names.has(name) || keep.has(name), caps)
  const forgotten = forgottenOf(grown, present, caps)
  return { state: without(grown, [...evicted, ...forgotten]), activated: [...names], evicted }
}

const NONE: ReadonlySet<string> = new Set()

/** Marks tools as used now; names that are not active are ignored. */
export function use(state: Activations, names: readonly string[]): Activations {
  const uses = lastUseOf(state)
  const order = new Map(names.map((name, index) => [name, uses + index + 1]))
  return state.map((activation) => {
    const lastUse = order.get(activation.name)
    return lastUse === undefined ? activation : { ...activation, lastUse }
  })
}

/** Whether marking these tools as used now changes nothing: there is only one, and it was used last. */
export function isLatestUse(state: Activations, candidates: readonly ActivationCandidate[]): boolean {
  const [only, ...others] = candidates
  if (only === undefined || others.length > 0) return false
  const used = state.find(({ name }) => name === only.name)
  return used !== undefined && state.every((each) => each === used || each.lastUse < used.lastUse)
}

/**
 * Marks tools as used now, and checks out those that are not active: one that another replica has just evicted is
 * activated again. `activated` and `evicted` list what checking them out changed.
 */
export function useOrActivate(state: Activations, batch: Batch, caps: Caps): ActivationChange {
  const active = new Set(state.map(({ name }) => name))
  const names = batch.candidates.map(({ name }) => name)
  const used = use(state, names)
  const candidates = batch.candidates.filter(({ name }) => !active.has(name))
  if (candidates.length === 0) return { state: used, activated: [], evicted: [] }
  return activate(used, { ...batch, candidates, keep: new Set([...(batch.keep ?? NONE), ...names]) }, caps)
}

/** Checks tools out permanently: outside the cap, never evicted. */
export function preload(state: Activations, candidates: readonly ActivationCandidate[]): Activations {
  const uses = lastUseOf(state)
  const byName = new Map(state.map((activation) => [activation.name, activation]))
  candidates.forEach(({ name, fingerprint, tokens }, index) => {
    byName.set(name, { name, fingerprint, tokens, isKept: true, lastUse: uses + index + 1 })
  })
  return [...byName.values()]
}

/** Gives tools back. */
export function deactivate(
  state: Activations,
  names: readonly string[],
): { readonly state: Activations; readonly gone: readonly Activation[] } {
  const gone = names.flatMap((name) => state.find((activation) => activation.name === name) ?? [])
  return { state: without(state, gone), gone }
}

/** Applies caps that may be smaller than those the state was saved under. */
export function withinCaps(
  state: Activations,
  caps: Caps,
  absent: ReadonlySet<string> = NONE,
): { readonly state: Activations; readonly evicted: readonly Activation[] } {
  const present = state.filter(({ name }) => !absent.has(name))
  const evicted = surplusOf(present, () => false, caps)
  return { state: without(state, evicted), evicted }
}

/**
 * Applies the difference between two states to a third, which others have changed meanwhile: removes what was removed,
 * and adds what was added or used. Applying it twice has no further effect.
 */
export function mergeActivations(
  state: Activations,
  { from, to }: { readonly from: Activations; readonly to: Activations },
  caps: Caps,
): Activations {
  const before = new Map(from.map((activation) => [activation.name, activation]))
  const after = new Map(to.map((activation) => [activation.name, activation]))
  const gone = from.filter(({ name }) => !after.has(name))
  const merged = new Map(without(state, gone).map((activation) => [activation.name, activation]))
  for (const activation of to) {
    const old = before.get(activation.name)
    if (old === undefined || !isSame(old, activation)) merged.set(activation.name, activation)
  }
  return withinCaps([...merged.values()], caps).state
}

function isSame(a: Activation, b: Activation): boolean {
  return a.lastUse === b.lastUse && a.isKept === b.isKept && a.fingerprint === b.fingerprint
}

/** The best candidates that fit in addition to what must stay. */
function membersOf(
  state: Activations,
  candidates: readonly ActivationCandidate[],
  keep: ReadonlySet<string>,
  caps: Caps,
): readonly ActivationCandidate[] {
  const preloaded = new Set(state.filter(({ isKept }) => isKept).map(({ name }) => name))
  const staying = state.filter(({ name, isKept }) => keep.has(name) && !isKept)
  const members = new Map<string, ActivationCandidate>()
  let count = staying.length
  let tokens = tokensOf(staying)
  for (const candidate of candidates) {
    const { name } = candidate
    if (members.has(name)) continue
    // A tool that stays anyway needs no additional room.
    if (!preloaded.has(name) && !staying.some((activation) => activation.name === name)) {
      count++
      tokens += candidate.tokens
      // A single tool larger than the whole budget must still be usable.
      if (count > 1 && isBeyond(count, tokens, caps)) break
    }
    members.set(name, candidate)
  }
  return [...members.values()]
}

/** What must be evicted for the rest to fit, least recently used first. */
function surplusOf(
  state: Activations,
  mustStay: (name: string) => boolean,
  caps: Caps,
): readonly Activation[] {
  const counted = state.filter(({ isKept }) => !isKept)
  let count = counted.length
  let tokens = tokensOf(counted)
  const surplus: Activation[] = []
  const oldestFirst = counted.filter(({ name }) => !mustStay(name)).sort((a, b) => a.lastUse - b.lastUse)
  for (const activation of oldestFirst) {
    if (!isBeyond(count, tokens, caps)) break
    surplus.push(activation)
    count--
    tokens -= activation.tokens
  }
  return surplus
}

/** How many absent tools are remembered where there is no cap. */
const MAX_ABSENT = 100

/** Absent tools beyond what is worth remembering, least recently used first. */
function forgottenOf(state: Activations, present: Activations, { maxActive }: Caps): readonly Activation[] {
  const isPresent = new Set(present)
  const absent = state.filter((activation) => !activation.isKept && !isPresent.has(activation))
  const surplus = absent.length - (maxActive > 0 ? maxActive : MAX_ABSENT)
  return surplus > 0 ? absent.sort((a, b) => a.lastUse - b.lastUse).slice(0, surplus) : []
}

function isBeyond(count: number, tokens: number, { maxActive, maxActiveTokens }: Caps): boolean {
  return (maxActive > 0 && count > maxActive) || (maxActiveTokens > 0 && tokens > maxActiveTokens)
}

function without(state: Activations, gone: readonly Activation[]): Activations {
  if (gone.length === 0) return state
  const names = new Set(gone.map(({ name }) => name))
  return state.filter(({ name }) => !names.has(name))
}

function lastUseOf(state: Activations): number {
  return state.reduce((latest, { lastUse }) => Math.max(latest, lastUse), 0)
}

function tokensOf(tools: readonly { readonly tokens: number }[]): number {
  return tools.reduce((sum, { tokens }) => sum + tokens, 0)
}
