import { copyJson } from '../json.ts'
import type { ToolResult } from '../tool.ts'

const MAX_RESULTS = 500
const MAX_CHARS = 5_000_000

/** Good results of read-only tools, for as long as each tool says. Bounded: the least recently used go first. */
export class ResultCache {
  readonly #results = new Map<string, { result: ToolResult; expiresAt: number; chars: number }>()
  readonly #ids = new WeakMap<object, number>()
  #nextId = 0
  #chars = 0

  /** The key of a call. The registration is part of it, so a tool that is registered again starts without results. */
  key(registration: object, sessionId: string, canonicalArgs: string): string {
    let id = this.#ids.get(registration)
    if (id === undefined) {
      id = this.#nextId++
      this.#ids.set(registration, id)
    }
    return `${id} ${JSON.stringify(sessionId)} ${canonicalArgs}`
  }

  get(key: string, now: number): ToolResult | undefined {
    const kept = this.#results.get(key)
    if (kept === undefined) return undefined
    this.#remove(key)
    if (kept.expiresAt <= now) return undefined
    this.#add(key, kept)
    return copyJson(kept.result) as ToolResult
  }

  /** Keeps a copy of the result. Errors are not kept, nor is anything but plain data. */
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
