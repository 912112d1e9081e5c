import { copyJson, isRecord } from '../json.ts'
import type { SchemaCache } from '../schema/check-arguments.ts'
import { type Schedule, scheduleWithTimers } from '../time.ts'
import type { ToolResult } from '../tool.ts'
import type { Grants } from './grants.ts'
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
  readonly results = new ResultCache()
  /** Made with the first question. */
  grants: Grants | undefined
  /** Slots per registration, for tools with `maxConcurrent`. */
  readonly slots = new WeakMap<object, Slots>()
  #schemas: SchemaCache | undefined

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

const MAX_RESULTS = 500
const MAX_CHARS = 5_000_000

/** Successful results of read-only tools, for as long as each tool allows. Bounded: drops the least recently used first. */
export class ResultCache {
  readonly #results = new Map<string, { result: ToolResult; expiresAt: number; chars: number }>()
  readonly #ids = new WeakMap<object, number>()
  #nextId = 0
  #chars = 0

  /**
   * The key of a call. The registration is part of it, so a tool that is registered again starts with an empty cache; so
   * is the host's value, since the tool may have read from it for whom it runs.
   */
  key(
    registration: object,
    { sessionId, context }: { readonly sessionId: string; readonly context: unknown },
    canonicalArgs: string,
  ): string {
    const host = isRecord(context) ? this.#id(context) : `${typeof context} ${String(context)}`
    return `${this.#id(registration)} ${JSON.stringify([sessionId, host])} ${canonicalArgs}`
  }

  #id(object: object): number {
    const id = this.#ids.get(object) ?? this.#nextId++
    this.#ids.set(object, id)
    return id
  }

  get(key: string, now: number): ToolResult | undefined {
    const kept = this.#results.get(key)
    if (kept === undefined) return undefined
    this.#remove(key)
    if (kept.expiresAt <= now) return undefined
    this.#add(key, kept)
    return copyJson(kept.result) as ToolResult
  }

  /** Stores a copy of the result. Errors are not stored, nor anything but plain data. */
  set(key: string, result: ToolResult, expiresAt: number): void {
    if (!result.ok) return
    const chars = key.length + JSON.stringify(result).length
    if (chars > MAX_CHARS / 10) return
    this.#remove(key)
    this.#add(key, { result: copyJson(result) as ToolResult, expiresAt, chars })
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= MAX_RESULTS && this.#chars <= MAX_CHARS) return
      this.#remove(oldest)
    }
  }

  #add(key: string, kept: { result: ToolResult; expiresAt: number; chars: number }): void {
    this.#results.set(key, kept)
    this.#chars += kept.chars
  }

  #remove(key: string): void {
    this.#chars -= this.#results.get(key)?.chars ?? 0
    this.#results.delete(key)
  }
}
