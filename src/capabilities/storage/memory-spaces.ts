import type { StorageSpace } from './space.ts'

/** Spaces in memory, which last as long as the process. */
export function memorySpaces(): (name: string) => StorageSpace {
  const spaces = new Map<string, Map<string, string>>()
  return (name) => {
    const values = spaces.get(name) ?? new Map<string, string>()
    spaces.set(name, values)
    return {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      keys: async () => [...values.keys()],
      count: async () => values.size,
    }
  }
}
