import { canonicalJson, hashText } from '../json.ts'

const MAX_SESSIONS = 1_000

/** Counts how often in a row each session asked the same. Remembers the sessions that called last. */
export class IdenticalCalls {
  readonly #sessions = new Map<string, { call: string; times: number }>()

  /** Notes a call and answers how many times in a row it has now been made; another call starts anew. */
  note(sessionId: string, name: string, args: unknown): number {
    const call = `${name} ${fingerprint(args)}`
    const last = this.#sessions.get(sessionId)
    const times = last?.call === call ? last.times + 1 : 1
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, { call, times })
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

function fingerprint(args: unknown): string {
  try {
    const text = canonicalJson(args)
    // Long arguments are remembered by their hash: a thousand sessions must not hold a thousand documents.
    return text.length <= 256 ? text : `${text.length}:${hashText(text)}`
  } catch {
    return 'unreadable'
  }
}
