const MAX_DEPTH = 200

/**
 * Deep-copies data with every text changed, including keys and bytes that are valid UTF-8. Shared and cyclic
 * references are preserved and visited once. An object with `toJSON` becomes its result. Data more than 200 levels
 * deep is left out.
 */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  const copies = new Map<object, unknown>()
  return map(value, 0)

  function map(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return change(value)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (depth > MAX_DEPTH) return undefined
    if (copies.has(value)) return copies.get(value)
    return copy(value, depth + 1)
  }

  function copy(value: object, depth: number): unknown {
    if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
      const bytes = mapBytes(value, change)
      copies.set(value, bytes)
      return bytes
    }
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
      // Defined, since assigning to __proto__ would set the prototype.
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

/** Copies bytes, and changes the text in them if they contain any. */
function mapBytes(value: ArrayBuffer | ArrayBufferView, change: (text: string) => string): unknown {
  const bytes = ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value)
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const changed = change(text)
  if (changed !== text) return new TextEncoder().encode(changed)
  // Buffer's own slice shares memory; the one it inherits copies.
  return value instanceof Uint8Array ? Uint8Array.prototype.slice.call(value) : structuredClone(value)
}
