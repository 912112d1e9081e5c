/** The maximum length of a line, and what to call for each. */
export interface FramerOptions {
  /** Longer lines are dropped while they arrive. */
  readonly maxBytes: number
  /** Called for a complete line. */
  readonly onLine: (line: Buffer) => void
  readonly onOverlong: (line: OverlongLine) => void
}

interface Ends {
  readonly head: Buffer
  readonly tail: Buffer
}

/** What was kept of a line that was too long. */
export interface OverlongLine extends Ends {
  readonly bytes: number
}

const END_OF_LINE = 0x0a
/** How much is kept of either end of a line that is too long. */
export const EDGE_BYTES = 1_024

/** Splits a byte stream into lines, buffering at most one line of the allowed length. */
export class LineFramer {
  readonly #options: FramerOptions
  #pieces: Buffer[] = []
  #bytes = 0
  #overlong: Ends | undefined

  constructor(options: FramerOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(END_OF_LINE); end >= 0; end = chunk.indexOf(END_OF_LINE, from)) {
      this.#take(chunk.subarray(from, end))
      this.#endLine()
      from = end + 1
    }
    if (from < chunk.length) this.#take(chunk.subarray(from))
  }

  #take(piece: Buffer): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (!this.#overlong) this.#pieces.push(piece)
    if (this.#bytes <= this.#options.maxBytes) return
    const { head, tail } = endsOf(Buffer.concat(this.#overlong ? [this.#overlong.tail, piece] : this.#pieces))
    this.#overlong = { head: this.#overlong?.head ?? head, tail }
    this.#pieces = []
  }

  #endLine(): void {
    const [pieces, bytes, overlong] = [this.#pieces, this.#bytes, this.#overlong]
    this.#pieces = []
    this.#bytes = 0
    this.#overlong = undefined
    const [first] = pieces
    if (overlong) this.#options.onOverlong({ ...overlong, bytes })
    else if (first) this.#options.onLine(pieces.length > 1 ? Buffer.concat(pieces) : first)
  }
}

function endsOf(line: Buffer): Ends {
  // Copies, so that the line itself is not kept.
  return { head: Buffer.from(line.subarray(0, EDGE_BYTES)), tail: Buffer.from(line.subarray(-EDGE_BYTES)) }
}
