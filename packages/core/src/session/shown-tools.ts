import type { Entry } from '../registry/entry.ts'
import type { View } from '../registry/view.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import type { Kept } from './kept.ts'

/**
 * How one session sees the catalogue: like others with the same settings, but what it showed stays shown when auto mode
 * turns lazy. Only what came later is deferred, so the model keeps the tools it works with, and a provider's cache its
 * prefix. Looking changes nothing: `noteShown` records what a surface shows.
 */
export class ShownTools implements Pick<ViewBuilder, 'policy' | 'current' | 'explain'> {
  readonly #builder: ViewBuilder
  /** The names of the tools that the newest surface showed while auto mode was not lazy. */
  readonly #names: Kept<readonly string[]>
  #noted: View | undefined

  constructor(builder: ViewBuilder, names: Kept<readonly string[]>) {
    this.#builder = builder
    this.#names = names
  }

  get policy(): ViewBuilder['policy'] {
    return this.#builder.policy
  }

  get names(): readonly string[] {
    return this.#names.value
  }

  current(): View {
    const view = this.#builder.current()
    return view.mode.isAuto ? view.alsoShowing(this.names) : view
  }

  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string {
    const isKept = this.current() !== this.#builder.current() && this.names.includes(entry.name)
    return isKept ? 'the session showed it before auto mode turned lazy' : this.#builder.explain(entry)
  }

  /** Records what a surface shows, as long as auto mode may still turn lazy. */
  noteShown(): void {
    const view = this.#builder.current()
    if (view === this.#noted || !this.#builder.mayTurnLazy) return
    this.#noted = view
    if (view.mode.isLazy) return
    const names = view.shown.map(({ name }) => name)
    const known = this.names
    if (names.length === known.length && names.every((name, at) => name === known[at])) return
    this.#names.apply(() => names)
  }
}
