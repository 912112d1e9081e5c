import { isRecord } from '../json.ts'
import { readText } from './read-value.ts'

/** Fields of a message or call outside the provider's own API, kept so that they can be replayed. */
export type Extra = Record<string, unknown>

/**
 * Collects the extra fields that stream chunks add to one message. Strings are concatenated and lists grow; a list
 * entry with the index of an earlier one continues it.
 */
export class ExtraFields {
  readonly #fields: Extra = {}
  /** For each list, the position of the entry with an index and type. */
  readonly #places = new Map<string, Map<string, number>>()

  add(piece: Extra): void {
    for (const [field, value] of Object.entries(piece)) {
      if (value === null || value === undefined || field === '__proto__') continue
      const before = this.#fields[field]
      if (Array.isArray(value)) this.#addEntries(field, Array.isArray(before) ? before : [], value)
      else if (typeof before === 'string' && typeof value === 'string') this.#fields[field] = before + value
      else this.#fields[field] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value
    }
  }

  fields(): Extra {
    return { ...this.#fields }
  }

  #addEntries(field: string, entries: unknown[], added: readonly unknown[]): void {
    this.#fields[field] = entries
    const places = this.#places.get(field) ?? new Map<string, number>()
    this.#places.set(field, places)
    for (const entry of added) {
      const key = keyOf(entry)
      const place = key === undefined ? undefined : places.get(key)
      if (place !== undefined) entries[place] = joinEntry(entries[place], entry)
      else {
        if (key !== undefined) places.set(key, entries.length)
        entries.push(entry)
      }
    }
  }
}

/** Undefined for an entry without an index, which continues none. */
function keyOf(entry: unknown): string | undefined {
  if (!isRecord(entry) || (typeof entry.index !== 'number' && typeof entry.index !== 'string'))
    return undefined
  return `${entry.index} ${readText(entry.type)}`
}

/** Entry fields whose text arrives in pieces; the others arrive whole, repeated with every piece. */
const RUNNING: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

function joinEntry(before: unknown, piece: unknown): Extra {
  const joined: Extra = isRecord(before) ? { ...before } : {}
  for (const [field, value] of Object.entries(isRecord(piece) ? piece : {})) {
    if (value === null || value === undefined) continue
    const known = joined[field]
    joined[field] =
      RUNNING.has(field) && typeof known === 'string' && typeof value === 'string' ? known + value : value
  }
  return joined
}
