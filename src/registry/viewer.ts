import type { Emit } from '../events.ts'
import type { Listing } from '../tool.ts'
import type { Snapshot } from './catalogue.ts'
import type { Entry } from './entry.ts'
import { decideMode, isDeferred, type ModeDecision, type ModeSettings } from './mode.ts'
import { type CompiledPolicy, matcher } from './policy.ts'

/** A snapshot as one session sees it: what is shown, what waits behind the search, what is not for it at all. */
export interface View {
  readonly snapshot: Snapshot
  readonly mode: ModeDecision
  /** Permitted and not deferred, by name. */
  readonly shown: readonly Entry[]
  /** Permitted and deferred, by name; activated ones included. */
  readonly deferred: ReadonlyMap<string, Entry>
  /** Which gate holds a tool back, or undefined when it is permitted. */
  denial(entry: Entry): string | undefined
  /** Whether a listing is permitted; made for asking about thousands of them. */
  permits(listing: Listing): boolean
}

export interface ViewerOptions {
  readonly settings: ModeSettings & { readonly pinned: readonly string[] }
  readonly policy: CompiledPolicy
  /** False when no search tool may be shown: nothing is deferred then, since nothing could bring it back. */
  readonly canSearch: boolean
  snapshot(): Snapshot
  emit: Emit
}

/** Keeps the view of the newest snapshot. Looking again at an unchanged catalogue costs nothing. */
export class Viewer {
  readonly #options: ViewerOptions
  readonly #isPinned: (name: string) => boolean
  #view: View | undefined

  constructor(options: ViewerOptions) {
    this.#options = options
    this.#isPinned = matcher(options.settings.pinned) ?? (() => false)
  }

  current(): View {
    const snapshot = this.#options.snapshot()
    if (this.#view?.snapshot !== snapshot) this.#view = this.#look(snapshot, this.#view)
    return this.#view
  }

  #look(snapshot: Snapshot, before: View | undefined): View {
    const { settings, policy, canSearch, emit } = this.#options
    const mode = decideMode(settings, snapshot, before?.mode.isLazy ?? false)
    if (before && before.mode.isLazy !== mode.isLazy) {
      emit({ type: 'mode-changed', mode: mode.isLazy ? 'lazy' : 'full', reason: mode.reason })
    }
    const denial = (entry: Entry) => denialOf(entry, snapshot, policy)
    const shown: Entry[] = []
    const deferred = new Map<string, Entry>()
    const permitted = new Set<Listing>()
    for (const entry of snapshot.sorted) {
      if (denial(entry) !== undefined) continue
      permitted.add(entry.listing)
      const isHidden =
        canSearch && !this.#isPinned(entry.name) && isDeferred(entry, { ...settings, isLazy: mode.isLazy })
      if (isHidden) deferred.set(entry.name, entry)
      else shown.push(entry)
    }
    const isAll = permitted.size === snapshot.size
    const permits = isAll ? () => true : (listing: Listing) => permitted.has(listing)
    return { snapshot, mode, shown, deferred, denial, permits }
  }
}

/** Which gate holds a tool back: quarantine first, then the policy. */
export function denialOf(entry: Entry, snapshot: Snapshot, policy: CompiledPolicy): string | undefined {
  const quarantine = snapshot.quarantined.get(entry.name)
  return quarantine === undefined ? policy.denial(entry) : `quarantine (${quarantine})`
}
