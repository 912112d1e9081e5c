import type { AskedCall } from '@toolcrib/core'
import type { Decision } from '../audit/audited-call.ts'
import type { Json } from '../json-rpc.ts'
import type { GrantKind } from './approval-book.ts'

/** A person's answer. */
export interface Decided extends Decision {
  readonly decision: GrantKind | 'deny'
}

/** What a modern client sent back with its request. */
export interface ClientDecision {
  /** The calls that the question was about. */
  readonly calls: readonly KnownCall[]
  readonly decision: GrantKind | 'deny'
  readonly by: Decision['by']
  /** The client's parameters without the question and its state. */
  readonly rest: Json
}

/** A call by its tool, as it was defined, and its arguments. */
export interface KnownCall extends Pick<AskedCall, 'tool' | 'digest'> {
  readonly definition: string
}

/** The answers that a request came with: one for each call that the question named, however often a script makes it. */
export class GivenAnswers {
  readonly #given: ClientDecision | undefined
  readonly #left: KnownCall[]
  readonly #taken = new Set<string>()

  constructor(given: ClientDecision | undefined) {
    this.#given = given
    this.#left = [...(given?.calls ?? [])]
  }

  take({ toolCallId, tool, digest }: AskedCall, definition: string): Decided | undefined {
    const key = `${toolCallId} ${digest} ${definition}`
    const isSame = (call: KnownCall) => call.tool === tool && call.digest === digest
    const at = this.#left.findIndex((call) => isSame(call) && call.definition === definition)
    if (at >= 0 && !this.#taken.has(key)) this.#left.splice(at, 1)
    else if (!this.#taken.has(key)) return undefined
    this.#taken.add(key)
    return this.#given
  }
}
