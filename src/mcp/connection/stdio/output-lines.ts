import { StringDecoder } from 'node:string_decoder'

/** Longer lines are cut. */
const MAX_CHARACTERS = 2_000
/** More lines than this within a second are counted, not reported. */
const MAX_LINES = 50
const WINDOW_MS = 1_000

/** Splits what a server writes to stderr into lines. A flood costs no memory, and few lines of it are reported. */
export class OutputLines {
  readonly #onLine: (line: string) => void
  readonly #now: () => number
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  #windowStart = Number.NEGATIVE_INFINITY
  #inWindow = 0
  #dropped = 0

  constructor(onLine: (line: string) => void, now: () => number) {
    this.#onLine = onLine
    this.#now = now
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n')
    // What is cut off here is cut off from the line anyway.
    this.#rest = (lines.pop() ?? '').slice(0, MAX_CHARACTERS + 1)
    for (const line of lines) this.#report(line)
  }

  #report(line: string): void {
    const text = line.trimEnd()
    if (text === '') return
    const now = this.#now()
    if (now - this.#windowStart >= WINDOW_MS) {
      if (this.#dropped > 0) this.#onLine(`(${this.#dropped} more lines)`)
      this.#windowStart = now
      this.#inWindow = 0
      this.#dropped = 0
    }
    if (++this.#inWindow > MAX_LINES) this.#dropped++
    else this.#onLine(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text)
  }
}
