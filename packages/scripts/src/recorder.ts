import type { RecordedCall, Recording } from './replay.ts'
import type { Settled } from './sandbox.ts'

/** More would be too much to keep. */
const MAX_CHARS = 4_000_000

/** Collects what the calls of a script returned, as far as there is room. */
export class Recorder {
  readonly #script: Pick<Recording, 'source' | 'now'>
  readonly #steps: (readonly RecordedCall[])[]
  /** Calls as the script wrote them. */
  readonly #open: Map<number, readonly [path: string, args: string]>
  #chars = 0
  #isCut: boolean

  constructor({
    source,
    now,
    steps = [],
    open = [],
    isCut = false,
  }: Pick<Recording, 'source' | 'now'> & Partial<Recording>) {
    this.#script = { source, now }
    this.#steps = [...steps]
    this.#open = new Map(open.map(([n, path, args]) => [n, [path, args]]))
    this.#isCut = isCut
  }

  get recording(): Recording {
    const open = [...this.#open].map(([n, [path, args]]) => [n, path, args] as const)
    return { ...this.#script, steps: this.#steps, open, isCut: this.#isCut }
  }

  /** A call that is made again after a pause was asked before. */
  asked(n: number, path: string, args: string): void {
    if (!this.#open.has(n)) this.#open.set(n, [path, args])
  }

  /** These results reach the script, all at once. */
  settled(results: readonly Settled[]): void {
    const step = results.flatMap(([n, kind, text]): RecordedCall[] => {
      const [path = '', args = ''] = this.#open.get(n) ?? []
      this.#open.delete(n)
      this.#chars += path.length + args.length + text.length
      return [{ n, path, args, given: { kind, text } }]
    })
    this.#isCut ||= this.#chars > MAX_CHARS
    if (!this.#isCut) this.#steps.push(step)
  }
}
