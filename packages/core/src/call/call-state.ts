import type { SchemaCache } from '../schema/check-arguments.ts'
import { type Schedule, scheduleWithTimers } from '../time.ts'
import type { Grants } from './grants.ts'
import type { ResultCache } from './result-cache.ts'
import type { Slots } from './slots.ts'

/** The clock and the timers of a runner. */
export interface CallStateOptions {
  readonly now: () => number
  /** How deadlines are timed; the platform's timers by default. */
  readonly schedule?: Schedule
}

/** What a runner remembers across batches. All of it is bounded. */
export class CallState {
  readonly now: () => number
  readonly schedule: Schedule
  readonly identicalCalls = new IdenticalCalls()
  /** Made with the first question. */
  grants: Grants | undefined
  /** Slots per registration, for tools with `maxConcurrent`. */
  readonly slots = new WeakMap<object, Slots>()
  #schemas: SchemaCache | undefined
  #results: ResultCache | undefined

  constructor({ now, schedule = scheduleWithTimers }: CallStateOptions) {
    this.now = steady(now)
    this.schedule = schedule
  }

  /** Checks arguments; undefined until `loadSchemas()` is done. */
  get schemas(): SchemaCache | undefined {
    return this.#schemas
  }

  /** Loads the argument checker, which no program needs before its first call. */
  async loadSchemas(): Promise<SchemaCache> {
    const { SchemaCache } = await import('../schema/check-arguments.ts')
    this.#schemas ??= new SchemaCache()
    return this.#schemas
  }

  /** Loads the cache of results, for the first tool that has one. */
  async loadResults(): Promise<ResultCache> {
    const { ResultCache } = await import('./result-cache.ts')
    this.#results ??= new ResultCache()
    return this.#results
  }
}

/** A clock that never throws: if it fails, it repeats its last time. */
function steady(now: () => number): () => number {
  let last = 0
  return () => {
    try {
      const time = now()
      if (Number.isFinite(time)) last = time
    } catch {}
    return last
  }
}

const MAX_SESSIONS = 1_000
const MAX_DEPTH = 200

interface LastCall {
  readonly name: string
  readonly hash: number
  readonly times: number
}

/**
 * Counts how often in a row each session made the same call. Bounded: the least recently active sessions are forgotten.
 */
export class IdenticalCalls {
  readonly #sessions = new Map<string, LastCall>()
  #latest: string | undefined

  /** Counts a call; returns how many times in a row it has been made. A different call restarts the count. */
  note(sessionId: string, name: string, args: unknown): number {
    const hash = hashData(args)
    const last = this.#sessions.get(sessionId)
    const times = last?.name === name && last.hash === hash ? last.times + 1 : 1
    // Moved to the end: the least recently active ones are forgotten first.
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
 * Hashes data to 32 bits, regardless of key order. The arguments themselves, which may be whole documents, are not kept:
 * different calls look identical only if more hashes in a row collide than the limit allows.
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
