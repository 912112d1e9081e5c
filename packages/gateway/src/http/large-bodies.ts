import { hasFullShare } from '../load/shares.ts'
import type { Exchange } from './exchange.ts'

/** A body stays in memory while its request is in flight, so the number of large bodies is limited. */
const MAX_LARGE = 64
const LARGE_BYTES = 64 * 1024

/** The space that one body takes. */
export interface BodyRoom {
  /** Sets the actual length of the body. */
  arrived(characters: number): void
  /** Releases the space; further calls do nothing. */
  leave(): void
}

const SMALL: BodyRoom = { arrived: () => {}, leave: () => {} }

/** Limits the large bodies of requests in flight. */
export class LargeBodies {
  /** Each with the token of its request. */
  readonly #rooms = new Map<BodyRoom, string>()

  /** Reserves space for the body of a request; undefined if there is none. */
  admit(exchange: Exchange, principal: string): BodyRoom | undefined {
    if (!mayBeLarge(exchange)) return SMALL
    const own = [...this.#rooms.values()].filter((holder) => holder === principal)
    if (this.#rooms.size >= MAX_LARGE || hasFullShare(own.length, MAX_LARGE)) return undefined
    const room: BodyRoom = {
      arrived: (characters) => {
        if (characters <= LARGE_BYTES) room.leave()
      },
      leave: () => void this.#rooms.delete(room),
    }
    this.#rooms.set(room, principal)
    return room
  }
}

/** Whether a body is large, or has no declared length. */
function mayBeLarge(exchange: Exchange): boolean {
  const length = exchange.header('content-length')
  return length === undefined
    ? exchange.header('transfer-encoding') !== undefined
    : Number(length) > LARGE_BYTES
}
