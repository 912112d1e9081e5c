/** Keeps the last bytes of a stream. */
export class TailBuffer {
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): void {
    // A copy: a slice would keep the whole chunk it was cut from.
    const kept = Buffer.from(chunk.subarray(-this.#maxBytes))
    this.#chunks.push(kept)
    this.#bytes += kept.length
    for (
      let first = this.#chunks[0];
      first && this.#bytes - first.length >= this.#maxBytes;
      first = this.#chunks[0]
    ) {
      this.#bytes -= first.length
      this.#chunks.shift()
    }
  }

  text(): string {
    return Buffer.concat(this.#chunks).subarray(-this.#maxBytes).toString('utf8')
  }
}
