import { canonicalJson, hashText } from '../json.ts'

const MAX_SESSIONS = 1_000
const MAX_TEXT_CHARS = 1_000

interface LastCall {
  readonly name: string
  readonly args: string
  readonly times: number
}

/** Counts how often in a row each session asked the same. Remembers the sessions that called last. */
export class IdenticalCalls {
  readonly #sessions = new Map<string, LastCall>()

  /** Notes a call and answers how many times in a row it has now been made; another call starts anew. */
  note(sessionId: string, name: string, args: unknown): number {
    const text = textOf(args)
    const last = this.#sessions.get(sessionId)
    const isSame = last?.name === name && isSameData(last.args, text)
    const times = isSame ? last.times + 1 : 1
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, { name, args: text, times })
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

// Long arguments are remembered by their hash: a thousand sessions must not hold a thousand documents.
function textOf(args: unknown): string {
  try {
    const text = JSON.stringify(args) ?? 'null'
    return text.length <= MAX_TEXT_CHARS ? text : `${text.length} ${hashText(canonicalJson(args))}`
  } catch {
    return 'unreadable'
  }
}

// The same data in another order has as many characters, so most calls are told apart without sorting a key.
function isSameData(a: string, b: string): boolean {
  if (a === b) return true
  if (a.length !== b.length || !a.startsWith('{')) return false
  return canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))
}
