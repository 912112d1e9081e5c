import type { Entry } from './entry.ts'
import type { ReadMap } from './layered-map.ts'

/** If more names have changed, sorting all is as quick. */
const MAX_NOTED = 10_000

/** Sorts entries by name, continuing from the last time: sorting a million takes a second, merging a few into them does not. */
export class EntryOrder {
  /** Counts the changes of the catalogue. */
  change = 0
  /** The entries as they were sorted last, and the names that have changed since. */
  #sorted: readonly Entry[] | undefined
  #noted = new Set<string>()

  /** Notes that the entry of a name has changed. */
  note(name: string): void {
    this.change++
    if (this.#sorted === undefined) return
    this.#noted.add(name)
    if (this.#noted.size <= MAX_NOTED) return
    this.#sorted = undefined
    this.#noted = new Set()
  }

  /** `change` is that of the entries; those of an older catalogue are sorted by themselves. */
  sort(entries: ReadMap<Entry>, change: number): readonly Entry[] {
    if (change !== this.change) return Object.freeze([...entries.values()].sort(byName))
    const sorted =
      this.#sorted === undefined
        ? [...entries.values()].sort(byName)
        : merged(this.#sorted, this.#noted, entries)
    this.#sorted = Object.freeze(sorted)
    this.#noted = new Set()
    return this.#sorted
  }
}

/** Sorted entries with other ones for some names. */
function merged(sorted: readonly Entry[], changed: ReadonlySet<string>, entries: ReadMap<Entry>): Entry[] {
  const newest = [...changed].flatMap((name) => entries.get(name) ?? []).sort(byName)
  const all: Entry[] = []
  let next = 0
  for (const entry of sorted) {
    for (let other = newest[next]; other !== undefined && other.name < entry.name; other = newest[++next])
      all.push(other)
    if (!changed.has(entry.name)) all.push(entry)
  }
  all.push(...newest.slice(next))
  return all
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
