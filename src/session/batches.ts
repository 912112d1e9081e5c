import { hooksOf } from '../call/call-runner.ts'
import type { CallContext, CallHooks } from '../call/call-scope.ts'
import { isRecord } from '../json.ts'
import type { Meter } from '../usage.ts'

/** What sessions inherit from the calls during which they are forked. */
export interface Inherited {
  readonly hooks: readonly CallHooks[]
  readonly meters: readonly Meter[]
}

/** A batch of calls under way. */
export interface Batch {
  /** The context of its calls; null when what the host passed cannot be read. */
  readonly context: Partial<CallContext> | null
  end(): void
}

/** The batches of calls under way in one session. Its forks inherit their hooks and meters, besides the session's own. */
export class Batches {
  readonly #sessionId: string
  readonly #own: Inherited
  readonly #underWay = new Set<Inherited>()

  constructor(sessionId: string, own: Inherited) {
    this.#sessionId = sessionId
    this.#own = own
  }

  /** What a session that is forked now inherits, each once. */
  get inherited(): Inherited {
    const all = [this.#own, ...this.#underWay]
    return {
      hooks: [...new Set(all.flatMap(({ hooks }) => hooks))],
      meters: [...new Set(all.flatMap(({ meters }) => meters))],
    }
  }

  begin(given: unknown): Batch {
    const context = this.#contextOf(given)
    const batch = { hooks: hooksOf(context?.hooks), meters: listOrNone(context?.meters) }
    this.#underWay.add(batch)
    return { context, end: () => void this.#underWay.delete(batch) }
  }

  /** With inherited hooks first; null when it cannot be read. */
  #contextOf(given: unknown): Partial<CallContext> | null {
    try {
      if (!isRecord(given)) return null
      const { hooks, ...rest } = given as Partial<CallContext>
      const all = [...this.#own.hooks, ...hooksOf(hooks)]
      return { ...rest, sessionId: this.#sessionId, ...(all.length > 0 ? { hooks: all } : {}) }
    } catch {
      return null
    }
  }
}

/** A context that is rejected later may contain anything here. */
function listOrNone<Item>(list: readonly Item[] | undefined): readonly Item[] {
  return Array.isArray(list) ? list : []
}
