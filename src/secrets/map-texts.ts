const MAX_DEPTH = 200

/**
 * A deep copy of data with every text in it changed, keys too. What is shared or cyclic stays so, and is looked
 * through once. Dates and bytes hold no text and stay as they are; what says how it is written as JSON is written so.
 * What lies too deep to be looked through is left out.
 */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  const copies = new Map<object, unknown>()
  return map(value, 0)

  function map(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return change(value)
    if (typeof value !== 'object' || value === null || isTextless(value)) return value
    if (depth > MAX_DEPTH) return undefined
    if (copies.has(value)) return copies.get(value)
    return copy(value, depth + 1)
  }

  function copy(value: object, depth: number): unknown {
    if (Array.isArray(value)) {
      const items: unknown[] = []
      copies.set(value, items)
      for (const item of value) items.push(map(item, depth))
      return items
    }
    if (value instanceof Map) {
      const entries = new Map<unknown, unknown>()
      copies.set(value, entries)
      for (const [key, nested] of value) entries.set(map(key, depth), map(nested, depth))
      return entries
    }
    if (value instanceof Set) {
      const members = new Set<unknown>()
      copies.set(value, members)
      for (const member of value) members.add(map(member, depth))
      return members
    }
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') {
      const written = map(toJSON.call(value, ''), depth)
      copies.set(value, written)
      return written
    }
    const record: Record<string, unknown> = {}
    copies.set(value, record)
    for (const [key, nested] of Object.entries(value)) {
      // Defined, not assigned: assigning to __proto__ would set the prototype.
      Object.defineProperty(record, change(key), {
        value: map(nested, depth),
        writable: true,
        enumerable: true,
        configurable: true,
      })
    }
    return record
  }
}

function isTextless(value: object): boolean {
  return value instanceof Date || value instanceof ArrayBuffer || ArrayBuffer.isView(value)
}
