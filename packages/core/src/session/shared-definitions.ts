import { hashText, isRecord } from '../json.ts'
import { measureDefinition } from '../registry/entry.ts'
import type { ToolDefinition } from '../tool.ts'
import { WeakValues } from './weak-values.ts'

export type Definitions = readonly ToolDefinition[]

/** About how many tokens of definitions a saved session contains itself; longer lists are saved apart, for all sessions. */
const MAX_OWN_TOKENS = 2_500
/**
 * What a saved session has in place of a long list. The short hash finds the list here, and can be forged; the other one names
 * it in stores, and is absent if it was never written to one.
 */
export interface ListHash {
  readonly shared: string
  readonly sha256?: string
}

/**
 * The definitions that conversations sent, which are the same for many sessions: a saved session has only the hash of a
 * long list. The list is in the store under its hash, in parts by server, so that a change of one server writes little.
 * Parts are written before the list, and the list before a session refers to it; nothing deletes them, but they expire when
 * no session has used them for three months. A session whose list is gone begins a new prefix.
 */
export class SharedDefinitions {
  /** Lists in use, by hash. */
  readonly #known = new WeakValues<Definitions>()
  readonly #measured = new WeakMap<Definitions, { readonly hash: string; readonly tokens: number }>()
  readonly #digests = new WeakMap<Definitions, string>()

  /** Returns the value with hashes in place of long lists, which are added to `lists`. */
  shorten<Value>(value: Value, lists: Definitions[] = []): Value {
    let tokensLeft = MAX_OWN_TOKENS
    return mapLists(value, (list) => {
      if (!Array.isArray(list)) return list
      const { hash, tokens } = this.note(list)
      if (tokens <= tokensLeft) {
        tokensLeft -= tokens
        return list
      }
      // The same definitions may be in another list.
      const known = this.find({ shared: hash }) ?? list
      const same = areSame(known, list) ? known : list
      lists.push(same)
      const sha256 = this.digestOf(same)
      return { shared: hash, ...(sha256 === undefined ? {} : { sha256 }) }
    })
  }

  /** Returns the value with the lists that are known here in place of their hashes. */
  lengthen<Value>(value: Value): Value {
    return mapLists(value, (list) => (isListHash(list) ? (this.find(list) ?? list) : list))
  }

  find({ shared, sha256 }: ListHash): Definitions | undefined {
    const list = this.#known.get(shared)
    return list && (sha256 === undefined || this.digestOf(list) === sha256) ? list : undefined
  }

  /** The SHA-256 of a list, once it was noted. */
  digestOf(list: Definitions): string | undefined {
    return this.#digests.get(list)
  }

  noteDigest(list: Definitions, sha256: string): void {
    this.#digests.set(list, sha256)
  }

  /** Makes a list known. */
  note(list: Definitions): { readonly hash: string; readonly tokens: number } {
    const measured = this.#measured.get(list) ?? measureList(list)
    this.#measured.set(list, measured)
    if (this.#known.get(measured.hash) === undefined) this.#known.set(measured.hash, list)
    return measured
  }
}

function measureList(list: Definitions): { readonly hash: string; readonly tokens: number } {
  const measures = list.map(measureDefinition)
  const hash = hashText(measures.map(({ fingerprint }) => fingerprint).join(' '))
  return { hash, tokens: measures.reduce((sum, { tokens }) => sum + tokens, 0) }
}

function areSame(one: Definitions, other: Definitions): boolean {
  const isEqual = (definition: ToolDefinition, at: number) =>
    definition === other[at] || JSON.stringify(definition) === JSON.stringify(other[at])
  return one === other || (one.length === other.length && one.every(isEqual))
}

/** The fields of what is saved that contain definitions, and those that contain such fields. */
const LISTS = ['tools', 'deferredTools', 'lateTools']
const WITH_LISTS = ['firstRequest', 'surface', 'earlier']

/** Replaces the lists of definitions in a saved value. Returns the value itself if it has none. */
function mapLists<Value>(value: Value, change: (list: unknown) => unknown): Value {
  if (Array.isArray(value)) return value.map((each) => mapLists(each, change)) as Value
  if (!isRecord(value)) return value
  let mapped: Record<string, unknown> = value
  for (const [key, field] of Object.entries(value)) {
    const isList = LISTS.includes(key)
    if (!isList && !WITH_LISTS.includes(key)) continue
    const now = isList ? change(field) : mapLists(field, change)
    if (now !== field) mapped = { ...mapped, [key]: now }
  }
  return mapped as Value
}

/** Whether a saved value refers to lists that it does not contain. */
export function hasHashes(value: unknown): boolean {
  return hashesIn(value).length > 0
}

export function hashesIn(value: unknown): readonly ListHash[] {
  const hashes: ListHash[] = []
  mapLists(value, (list) => {
    if (isListHash(list)) hashes.push(list)
    return list
  })
  return hashes
}

function isListHash(value: unknown): value is ListHash {
  if (!isRecord(value) || typeof value.shared !== 'string') return false
  return value.sha256 === undefined || typeof value.sha256 === 'string'
}

const VALID = new WeakSet<object>()

/** Whether a value is a list of definitions. A frozen list is checked once, since many sessions have it. */
export function areDefinitions(value: unknown): value is readonly ToolDefinition[] {
  if (!Array.isArray(value)) return false
  if (VALID.has(value)) return true
  const isValid = value.every(isDefinition)
  if (isValid && Object.isFrozen(value)) VALID.add(value)
  return isValid
}

function isDefinition(value: unknown): value is ToolDefinition {
  if (!isRecord(value) || typeof value.name !== 'string' || typeof value.description !== 'string')
    return false
  return isRecord(value.parameters) || typeof value.parameters === 'boolean'
}
