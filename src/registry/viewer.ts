import type { Emit } from '../events.ts'
import { hashText } from '../json.ts'
import type { Listing, ToolDefinition } from '../tool.ts'
import type { Snapshot } from './catalogue.ts'
import type { Entry } from './entry.ts'
import { isDeferred, type ModeDecision, type ModeSettings } from './mode.ts'
import { type CompiledPolicy, matcher } from './policy.ts'

/** A snapshot as a session sees it: what is shown, what waits behind the search, what is not for it at all. */
export interface View {
  readonly snapshot: Snapshot
  readonly mode: ModeDecision
  /** Permitted and not deferred, by name. */
  readonly shown: readonly Entry[]
  /** Permitted and deferred, by name; activated ones included. */
  readonly deferred: ReadonlyMap<string, Entry>
  /** All that is deferred, as a provider that defers by itself is told. */
  readonly deferredList: DeferredList
  /** Servers that nobody vouches for and that have a permitted tool, shown or deferred, by name. */
  readonly untrustedServers: readonly string[]
  /** True when every registered tool is permitted. */
  readonly permitsAll: boolean
  /** Which gate holds a tool back, or undefined when it is permitted. */
  denial(entry: Entry): string | undefined
  /** Whether a listing is permitted; made for asking about thousands of them. */
  permits(listing: Listing): boolean
}

export interface DeferredList {
  readonly definitions: readonly ToolDefinition[]
  readonly fingerprint: string
}

export interface ViewerOptions {
  readonly settings: ModeSettings & { readonly pinned: readonly string[] }
  readonly policy: CompiledPolicy
  /** False when no search tool may be shown: nothing is deferred then, since nothing could bring it back. */
  readonly canSearch: boolean
  snapshot(): Snapshot
  mode(): ModeDecision
  emit: Emit
}

const NO_SEARCH: ModeDecision = { isLazy: false, isAuto: false, reason: 'no search tool is permitted' }

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
    const mode = canSearch ? this.#options.mode() : NO_SEARCH
    if (before && before.mode.isLazy !== mode.isLazy) {
      emit({ type: 'mode-changed', mode: mode.isLazy ? 'lazy' : 'full', reason: mode.reason })
    }
    const deferral = { mode: settings.mode, defer: settings.defer, isLazy: mode.isLazy }
    const shown: Entry[] = []
    const deferred = new Map<string, Entry>()
    const permitted = new Set<Listing>()
    const untrusted = new Set<string>()
    for (const entry of snapshot.sorted) {
      if (denialOf(entry, snapshot, policy) !== undefined) continue
      permitted.add(entry.listing)
      if (entry.untrustedServer !== undefined) untrusted.add(entry.untrustedServer)
      const isHidden = canSearch && isDeferred(entry, deferral) && !this.#isPinned(entry.name)
      if (isHidden) deferred.set(entry.name, entry)
      else shown.push(entry)
    }
    let deferredList: DeferredList | undefined
    return {
      snapshot,
      mode,
      shown,
      deferred,
      untrustedServers: Object.freeze([...untrusted].sort()),
      permitsAll: permitted.size === snapshot.size,
      get deferredList() {
        deferredList ??= listDeferred(deferred)
        return deferredList
      },
      denial: (entry) => denialOf(entry, snapshot, policy),
      permits: (listing) => permitted.has(listing),
    }
  }
}

function listDeferred(deferred: ReadonlyMap<string, Entry>): DeferredList {
  const entries = [...deferred.values()]
  return {
    definitions: Object.freeze(entries.map(({ definition }) => definition)),
    fingerprint: hashText(entries.map(({ fingerprint }) => fingerprint).join(' ')),
  }
}

/** Which gate holds a tool back: quarantine first, then the policy. */
export function denialOf(entry: Entry, snapshot: Snapshot, policy: CompiledPolicy): string | undefined {
  const quarantine = snapshot.quarantined.get(entry.name)
  return quarantine === undefined ? policy.denial(entry) : `quarantine (${quarantine})`
}
