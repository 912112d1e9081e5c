/**
 * Keeps the start and the end of a stream within a byte limit, and counts the bytes dropped between them. The start
 * and the end of a command's output are the most informative.
 */
export class OutputWindow {
  readonly #halfBytes: number
  readonly #head: Buffer[] = []
  readonly #tail: Buffer[] = []
  #headBytes = 0
  #tailBytes = 0
  #totalBytes = 0

  constructor(maxBytes: number) {
    this.#halfBytes = Math.max(1, Math.floor(maxBytes / 2))
  }

  /** Bytes received in total. */
  get totalBytes(): number {
    return this.#totalBytes
  }

  get isCut(): boolean {
    return this.#totalBytes > this.#halfBytes * 2
  }

  push(chunk: Buffer): void {
    this.#totalBytes += chunk.length
    const headRoom = this.#halfBytes - this.#headBytes
    if (headRoom > 0) {
      this.#head.push(chunk.subarray(0, headRoom))
      this.#headBytes += Math.min(chunk.length, headRoom)
      chunk = chunk.subarray(headRoom)
    }
    if (chunk.length === 0) return
    this.#tail.push(chunk)
    this.#tailBytes += chunk.length
    this.#dropOldest()
  }

  /** The text, with a line in the middle that reports the dropped bytes. */
  text(): string {
    const head = Buffer.concat(this.#head)
    const tail = Buffer.concat(this.#tail)
    if (!this.isCut) return Buffer.concat([head, tail]).toString('utf8')
    const kept = tail.subarray(Math.max(0, tail.length - this.#halfBytes))
    const dropped = this.#totalBytes - head.length - kept.length
    return `${wholeCharacters(head)}\n[${dropped} bytes dropped]\n${wholeCharacters(kept)}`
  }

  #dropOldest(): void {
    // Drops whole chunks only; text() makes the exact cut.
    while (this.#tail[0] !== undefined && this.#tailBytes - this.#tail[0].length >= this.#halfBytes) {
      this.#tailBytes -= this.#tail[0].length
      this.#tail.shift()
    }
  }
}

/** Removes the partial characters that a cut leaves at either end. */
function wholeCharacters(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\uFFFD{1,3}|\uFFFD$/g, '')
}
