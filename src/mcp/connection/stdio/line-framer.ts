/** The maximum length of a line, and what to call for each. */
export interface FramerOptions {
  /** Longer lines are dropped while they arrive. */
  readonly maxBytes: number
  /**
   * Called for a complete line. `joints` are the positions in it, after the first, where a read from the pipe began.
   */
  readonly onLine: (line: Buffer, joints: readonly number[]) => void
  readonly onOverlong: (line: OverlongLine) => void
}

/** What was kept of a line that was too long. */
export interface OverlongLine {
  readonly bytes: number
  readonly head: Buffer
  readonly tail: Buffer
  /** The part from the last read that began with a brace: a message glued to an unfinished line. */
  readonly glued: Buffer | undefined
}

const END_OF_LINE = 0x0a
const BRACE = 0x7b
const EDGE_BYTES = 1_024

/** Splits a byte stream into lines, buffering at most one line of the allowed length. */
export class LineFramer {
  readonly #options: FramerOptions
  #pieces: Buffer[] = []
  #bytes = 0
  #overlong: Remains | undefined

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
    if (this.#overlong) {
      skim(this.#overlong, piece, this.#options.maxBytes)
      return
    }
    this.#pieces.push(piece)
    if (this.#bytes <= this.#options.maxBytes) return
    const line = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#overlong = {
      head: Buffer.from(line.subarray(0, EDGE_BYTES)),
      tail: Buffer.from(line.subarray(-EDGE_BYTES)),
      glued: undefined,
      gluedBytes: 0,
    }
  }

  #endLine(): void {
    const pieces = this.#pieces
    const bytes = this.#bytes
    const overlong = this.#overlong
    this.#pieces = []
    this.#bytes = 0
    this.#overlong = undefined
    const [first] = pieces
    if (overlong)
      this.#options.onOverlong({ ...overlong, bytes, glued: overlong.glued && Buffer.concat(overlong.glued) })
    else if (pieces.length > 1) this.#options.onLine(Buffer.concat(pieces), jointsOf(pieces))
    else if (first) this.#options.onLine(first, [])
  }
}

/** What is kept of an overlong line while more of it arrives. */
interface Remains {
  readonly head: Buffer
  tail: Buffer
  glued: Buffer[] | undefined
  gluedBytes: number
}

function skim(remains: Remains, piece: Buffer, maxBytes: number): void {
  const edge = Buffer.concat([remains.tail, piece.subarray(-EDGE_BYTES)])
  remains.tail = Buffer.from(edge.subarray(-EDGE_BYTES))
  if (piece[0] === BRACE) {
    remains.glued = []
    remains.gluedBytes = 0
  }
  remains.gluedBytes += piece.length
  if (remains.gluedBytes > maxBytes) remains.glued = undefined
  remains.glued?.push(piece)
}

function jointsOf(pieces: readonly Buffer[]): number[] {
  let offset = 0
  return pieces.slice(0, -1).map((piece) => {
    offset += piece.length
    return offset
  })
}
