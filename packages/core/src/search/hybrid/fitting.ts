import type { Lift, Ranked } from '../searcher.ts'
import { meaningReason } from '../semantic.ts'
import { compareNames } from '../top-matches.ts'
import type { Candidate } from './features.ts'

/** A candidate that is worth considering, and how well it fits. */
export interface Fitting {
  readonly candidate: Candidate
  /** 0 to about 1. */
  readonly fit: number
  readonly isRemembered?: boolean
}

/** Rounds away tiny differences, so that names break near-ties. */
export function rounded(fit: number): number {
  return Math.round(1_000 * fit) / 1_000
}

/** Best first; ties by trust, then by name. */
export function byFit(a: Fitting, b: Fitting): number {
  if (a.fit !== b.fit) return b.fit - a.fit
  const one = a.candidate.listing
  const other = b.candidate.listing
  return other.trust - one.trust || compareNames(one.name, other.name)
}

/**
 * What a candidate loses if another one fits the same part of a request better: each thing asked for should find its tool
 * before one of them finds five.
 */
const SAME_PART = 0.025

/** Takes candidates best first; the best of each part of the request keeps its fit. */
export function eachPartFirst(fitting: Fitting[]): Fitting[] {
  const served = new Set<string>()
  const placed = fitting.map((one): Fitting => {
    const { part } = one.candidate
    if (part === undefined) return one
    if (served.has(part)) return { ...one, fit: rounded(Math.max(0, one.fit - SAME_PART)) }
    served.add(part)
    return one
  })
  return served.size < 2 ? fitting : placed.sort(byFit)
}

/** A match as it is returned, with its reasons. */
export function toRanked(
  { candidate, fit, isRemembered }: Fitting,
  score: number,
  words: readonly string[],
): Ranked {
  const reasons = [...words]
  if (candidate.similarity > 0) reasons.push(meaningReason(candidate.similarity))
  if (candidate.part !== undefined) reasons.push(`matches the part "${candidate.part}"`)
  if (isRemembered) reasons.push('served a similar request before')
  return { listing: candidate.listing, score, fit, reasons }
}

/** A tool that memory knows and no ranking put forward starts at the fit of the candidate in this place. */
const REMEMBERED_PLACE = 20

/** It needs a lift of at least this much: a request that is merely similar says little about a tool that does not match. */
const REMEMBERED_FROM = 0.035

/**
 * Adds what memory knows: the only place where past use changes a fit. `find` returns a tool that may be found and is not
 * among the candidates.
 */
export function liftedBy(
  lifts: readonly Lift[],
  fitting: readonly Fitting[],
  find: (name: string) => Candidate | undefined,
): readonly Fitting[] {
  const byName = new Map(fitting.map((one) => [one.candidate.listing.name, one]))
  const start = fitting[Math.min(REMEMBERED_PLACE, fitting.length) - 1]?.fit ?? 0
  for (const { id, lift } of lifts) {
    const known = byName.get(id)
    if (known === undefined && lift < REMEMBERED_FROM) continue
    const candidate = known?.candidate ?? find(id)
    if (candidate === undefined) continue
    byName.set(id, { ...known, candidate, fit: rounded((known?.fit ?? start) + lift), isRemembered: true })
  }
  return [...byName.values()].sort(byFit)
}
