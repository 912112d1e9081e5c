import { copyJson, isRecord } from '../json.ts'
import type { ToolResult } from '../tool.ts'

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
