import { isRecord } from '../json.ts'

/** Fields of a message or a call that are not of the provider's own API, kept so that they can go back. */
export type Extra = Readonly<Record<string, unknown>>

/**
 * Joins what two pieces of a stream add to one message: texts run on, lists grow, and an entry of a list that bears
 * the index of an earlier one goes on with it.
 */
export function joinExtra(before: Extra, piece: object): Extra {
  const joined: Record<string, unknown> = { ...before }
  for (const [field, value] of Object.entries(piece))
    if (value !== null && value !== undefined) joined[field] = joinValues(joined[field], value)
  return joined
}

function joinValues(before: unknown, value: unknown): unknown {
  if (typeof before === 'string' && typeof value === 'string') return before + value
  if (Array.isArray(value)) return value.reduce(addEntry, Array.isArray(before) ? before : [])
  return isRecord(before) && isRecord(value) ? { ...before, ...value } : value
}

function addEntry(entries: readonly unknown[], entry: unknown): readonly unknown[] {
  if (!isRecord(entry) || entry.index === undefined) return [...entries, entry]
  const place = entries.findIndex(
    (other) => isRecord(other) && other.index === entry.index && other.type === entry.type,
  )
  return place === -1 ? [...entries, entry] : entries.with(place, joinEntry(entries[place], entry))
}

/** Fields of an entry whose text comes in pieces; the others come whole, and again with every piece. */
const RUNNING: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

function joinEntry(before: unknown, piece: Extra): Extra {
  const joined: Record<string, unknown> = isRecord(before) ? { ...before } : {}
  for (const [field, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue
    const known = joined[field]
    joined[field] =
      RUNNING.has(field) && typeof known === 'string' && typeof value === 'string' ? known + value : value
  }
  return joined
}
