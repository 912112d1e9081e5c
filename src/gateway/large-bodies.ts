import type { Exchange } from './exchange.ts'

/** A body stays in memory as long as its request is under way: so many of the longest may, and any number of others. */
const MAX_LARGE = 64
const LARGE_BYTES = 64 * 1024

/** Room for one body. */
export interface BodyRoom {
  /** Notes how long the body turned out to be. */
  arrived(characters: number): void
  /** Gives the room back; once is enough. */
  leave(): void
}

const SMALL: BodyRoom = { arrived: () => {}, leave: () => {} }

/** The large bodies of requests that arrive or are under way. */
export class LargeBodies {
  readonly #rooms = new Set<BodyRoom>()

  /** Makes room for the body of a request; undefined while there is none. */
  admit(exchange: Exchange): BodyRoom | undefined {
    if (!mayBeLarge(exchange)) return SMALL
    if (this.#rooms.size >= MAX_LARGE) return undefined
    const room: BodyRoom = {
      arrived: (characters) => {
        if (characters <= LARGE_BYTES) room.leave()
      },
      leave: () => void this.#rooms.delete(room),
    }
    this.#rooms.add(room)
    return room
  }
}

/** Whether a body is large, or does not say how long it is. */
function mayBeLarge(exchange: Exchange): boolean {
  const length = exchange.header('content-length')
  return length === undefined
    ? exchange.header('transfer-encoding') !== undefined
    : Number(length) > LARGE_BYTES
}
