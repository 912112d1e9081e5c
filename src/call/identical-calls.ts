const MAX_SESSIONS = 1_000
const MAX_DEPTH = 200

interface LastCall {
  readonly name: string
  readonly hash: number
  readonly times: number
}

/** Counts how often in a row each session made the same call. Bounded: the sessions that called longest ago are forgotten. */
export class IdenticalCalls {
  readonly #sessions = new Map<string, LastCall>()
  #latest: string | undefined

  /** Counts a call; returns how many times in a row it has been made. A different call restarts the count. */
  note(sessionId: string, name: string, args: unknown): number {
    const hash = hashData(args)
    const last = this.#sessions.get(sessionId)
    const times = last?.name === name && last.hash === hash ? last.times + 1 : 1
    // Moved to the end: those that called longest ago are forgotten first.
    if (sessionId !== this.#latest) this.#sessions.delete(sessionId)
    this.#latest = sessionId
    this.#sessions.set(sessionId, { name, hash, times })
    if (this.#sessions.size > MAX_SESSIONS) this.#forgetOldest()
    return times
  }

  #forgetOldest(): void {
    for (const sessionId of this.#sessions.keys()) {
      this.#sessions.delete(sessionId)
      return
    }
  }
}

/**
 * Data as 32 bits, the same whatever the order of its keys. Only a row of equal hashes, longer than any limit, could
 * mistake different calls for one, so nothing more is remembered of them: no session holds a document.
 */
function hashData(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null)
    return hashText(String(value), typeof value === 'string' ? 7 : 11)
  if (depth > MAX_DEPTH) return 13
  if (Array.isArray(value)) {
    let hash = 17
    for (const item of value) hash = mix(hash, hashData(item, depth + 1))
    return hash
  }
  let hash = 19
  for (const key of Object.keys(value)) {
    const nested = (value as Record<string, unknown>)[key]
    // Added up, so that order does not matter.
    if (nested !== undefined) hash = (hash + mix(hashText(key, 23), hashData(nested, depth + 1))) | 0
  }
  return hash
}

function hashText(text: string, seed: number): number {
  let hash = seed
  for (let index = 0; index < text.length; index++) hash = mix(hash, text.charCodeAt(index))
  return hash
}

function mix(hash: number, part: number): number {
  const mixed = Math.imul(hash ^ part, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}
