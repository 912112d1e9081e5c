import type { Spill } from '../call/spill.ts'
import { hashText } from '../json.ts'
import { byName, type Entry, measureDefinition } from '../registry/entry.ts'
import type { View } from '../registry/view.ts'
import type { ToolDefinition } from '../tool.ts'
import type { Told } from './conversation.ts'
import type { SessionDialect, SessionSettings } from './settings.ts'
import type { Surface } from './surface.ts'
import { WeakValues } from './weak-values.ts'

/** What all requests of a conversation begin with, and what came since, as plain JSON. */
export interface SentRequest extends Omit<Told, 'of'> {
  /** Identifies the settings it was made with: with other ones, the session makes a new first request. */
  readonly settings: string
  readonly surface: Surface
  /** What lies behind the search, as its description lists it. */
  readonly behind: string
  /** The paragraph for the system prompt. */
  readonly promptNote: string
}

/** How many late tools that have left are kept: a server may rename its tools forever. */
const MAX_LEFT = 500

/**
 * The first request of a conversation, which all later ones repeat byte for byte: providers cache the beginning of a
 * request, and some models reject a conversation whose tools have changed. What was shown stays shown and what was
 * deferred stays deferred, even if its server has left. Tools that come later are late tools: deferred, whatever they
 * are elsewhere, and found by the search. Never changes.
 */
export class PromptPrefix {
  /** Identifies its bytes. */
  readonly id: string
  /** As it began. */
  readonly sent: SentRequest
  /** What it tells itself. */
  readonly start: Told
  readonly #shown: ReadonlyMap<string, ToolDefinition>
  /** Sessions share a prefix and its views, and with them what these come to. */
  readonly #divided = new WeakMap<View, View>()
  readonly #lateTools = new WeakMap<View, WeakMap<readonly ToolDefinition[], Late>>()
  #joined: { readonly view: View; readonly entries: readonly Entry[] } | undefined
  #grown: readonly Surface[] = []

  constructor(sent: SentRequest) {
    const { settings, surface, behind, promptNote, lateTools, servers, isWarned } = sent
    this.id = hashText(JSON.stringify([settings, surface.fingerprint, behind, promptNote]))
    this.sent = sent
    this.start = { of: this.id, lateTools, servers, isWarned }
    this.#shown = new Map(surface.tools.map((definition) => [definition.name, definition]))
  }

  /** Whether it shows a search, through which tools that come later are found. */
  get hasSearch(): boolean {
    return this.sent.behind !== ''
  }

  /** The definition that a request of this conversation declared. */
  declared(name: string, { lateTools }: Told): ToolDefinition | undefined {
    return this.#sentDefinition(name) ?? lateTools.find((late) => late.name === name)
  }

  /** Whether the model was shown another definition than the tool has now. */
  declaresOther({ name, definition }: Entry, told: Told): boolean {
    const declared = this.declared(name, told)
    if (declared === undefined || declared === definition) return false
    return measureDefinition(declared).fingerprint !== measureDefinition(definition).fingerprint
  }

  /**
   * Divides the permitted tools of a newer catalogue as in this request. Undefined where a new prefix must begin although
   * that invalidates the prompt cache: what is deferred now needs a search, or the provider takes no more tools.
   */
  divide(view: View, told: Told, room: Room): View | undefined {
    if (!this.hasSearch) return view.deferred.size > 0 ? undefined : view
    const divided =
      this.#divided.get(view) ??
      view.showing(new Set(this.#shown.keys()), 'as in the first request of the conversation')
    this.#divided.set(view, divided)
    const { strategy, tools, deferredTools = [] } = this.sent.surface
    if (strategy !== 'native') return divided
    const late = room.callsLateTools ? 0 : this.#late(divided, told.lateTools).all.length
    return room.hasRoomFor(tools.length + deferredTools.length + late) ? divided : undefined
  }

  /** Returns the surface of a later request: this one, with the tools that came since; `before` while nothing changed. */
  grown(view: View, { lateTools }: Told, before: Surface | undefined): Surface {
    const { surface } = this.sent
    const deferredCount = view.deferred.size
    if (before?.deferredCount === deferredCount && (before.lateTools ?? []) === lateTools) return before
    const late = lateTools.map((definition) => measureDefinition(definition).fingerprint)
    const fingerprint =
      late.length > 0 ? hashText([surface.fingerprint, ...late].join(' ')) : surface.fingerprint
    const known = [before, surface, ...this.#grown].find(
      (same) => same?.fingerprint === fingerprint && same.deferredCount === deferredCount,
    )
    if (known) return known
    const grown = Object.freeze({
      ...surface,
      deferredCount,
      ...(late.length > 0 ? { lateTools: Object.freeze(lateTools), fingerprint } : {}),
    })
    this.#grown = [grown, ...this.#grown].slice(0, MAX_GROWN)
    return grown
  }

  /**
   * Adds the tools that joined since, which a native request declares; `told` itself if there are none. Where requests do
   * not declare late tools, those that have left are kept up to a limit, and longest if they are active.
   */
  gather(view: View, told: Told, { isAvailable, isActive, declaresLateTools }: Gathering): Told {
    if (this.sent.surface.strategy !== 'native') return told
    const late = this.#late(view, told.lateTools)
    const joined = late.joined.filter(isAvailable)
    const isWhole = joined.length === late.joined.length
    const all = isWhole ? late.all : [...told.lateTools, ...joined.map(({ definition }) => definition)]
    const left = declaresLateTools ? [] : all.filter(({ name }) => view.snapshot.get(name) === undefined)
    if (left.length <= MAX_LEFT) return joined.length === 0 ? told : { ...told, lateTools: all }
    const dropped = left.toSorted((a, b) => Number(isActive(a.name)) - Number(isActive(b.name)))
    const isDropped = new Set(dropped.slice(0, left.length - MAX_LEFT / 2))
    return { ...told, lateTools: all.filter((late) => !isDropped.has(late)) }
  }

  #sentDefinition(name: string): ToolDefinition | undefined {
    return this.#shown.get(name) ?? named(name, this.sent.surface.deferredTools ?? [])
  }

  /** Deferred tools that joined since these did, and the definitions of all. */
  #late(view: View, lateTools: readonly ToolDefinition[]): Late {
    const ofView = this.#lateTools.get(view) ?? new WeakMap<readonly ToolDefinition[], Late>()
    this.#lateTools.set(view, ofView)
    const known = ofView.get(lateTools)
    if (known) return known
    const names = new Set(lateTools.map(({ name }) => name))
    const joined = this.#joinedIn(view).filter(({ name }) => !names.has(name))
    const all =
      joined.length === 0 ? lateTools : [...lateTools, ...joined.map(({ definition }) => definition)]
    const late = { joined, all }
    ofView.set(lateTools, late)
    return late
  }

  /** Deferred tools that the prefix does not declare, by name. Reads only the sources that changed since the last view. */
  #joinedIn(view: View): readonly Entry[] {
    if (view.lists(this.sent.surface.deferredTools)) {
      this.#joined ??= { view, entries: [] }
      return []
    }
    const last = this.#joined
    const changed = last && view.changedSince(last.view)
    const isJoined = ({ name }: Entry) => this.#sentDefinition(name) === undefined
    const entries =
      last && changed
        ? [
            ...last.entries.filter(({ name }) => !changed.has(name)),
            ...[...changed].flatMap((name) => view.deferred.get(name) ?? []).filter(isJoined),
          ].sort(byName)
        : [...view.deferred.values()].filter(isJoined)
    this.#joined = { view, entries }
    return entries
  }
}

/** Finds a definition in a list that is sorted by name: a map of thousands takes longer to make than few sessions need. */
function named(name: string, sorted: readonly ToolDefinition[]): ToolDefinition | undefined {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle]?.name ?? '') < name) from = middle + 1
    else to = middle
  }
  return sorted[from]?.name === name ? sorted[from] : undefined
}

/** The prefixes in use: sessions that begin alike share one, with all that follows from it. */
export class SharedPrefixes {
  readonly #known = new WeakValues<PromptPrefix>()
  /** Kept while sessions may begin with them, even if none does now. */
  readonly #begun = new WeakMap<View, Set<PromptPrefix>>()

  /** Returns the prefix with this content; `view` is what it begins with. */
  of(sent: SentRequest, view?: View): PromptPrefix {
    const prefix = new PromptPrefix(sent)
    if (sent.lateTools.length > 0) return prefix
    const { deferredCount, untrustedServers } = sent.surface
    const key = JSON.stringify([prefix.id, deferredCount, untrustedServers, sent.servers, sent.isWarned])
    const shared = this.#known.get(key) ?? prefix
    if (shared === prefix) this.#known.set(key, prefix)
    if (view) this.#begun.set(view, (this.#begun.get(view) ?? new Set()).add(shared))
    return shared
  }
}

/** How many later surfaces are kept, for the sessions that come to the same. */
const MAX_GROWN = 8

interface Late {
  readonly joined: readonly Entry[]
  readonly all: readonly ToolDefinition[]
}

/** How many tools requests may declare, and whether late ones are among them. */
export interface Room {
  readonly callsLateTools: boolean
  hasRoomFor(tools: number): boolean
}

interface Gathering {
  /** Whether each request declares late tools. */
  readonly declaresLateTools: boolean
  isAvailable(entry: Entry): boolean
  isActive(name: string): boolean
}

/** Identifies the settings that decide which tools a request may show: a session restored with others begins again. */
export function settingsId(
  dialect: SessionDialect,
  {
    strategy,
    searchTool,
    searchStyle,
    callReadTool,
    policy,
    allowlists,
    mode,
    defer,
    pinned,
  }: SessionSettings,
  {
    spill,
    scripts,
    skills,
  }: { spill?: Spill | undefined; scripts?: object | undefined; skills?: object | undefined },
): string {
  const provider = [dialect.name, dialect.strategy, dialect.dispatchesLateTools === true]
  const division = [mode, defer, [...new Set(pinned)].sort()]
  const metaTools = [
    strategy,
    searchTool,
    searchStyle,
    spill !== undefined,
    ...(callReadTool ? [true] : []),
    ...(scripts ? ['scripts'] : []),
    ...(skills ? ['skills'] : []),
  ]
  return hashText(JSON.stringify([provider, division, metaTools, policy, allowlists]))
}

/** Replaces one prefix with another, unless another replica has begun one that was not known here. */
export function beginPrefix(prefix: PromptPrefix, replaced: PromptPrefix | undefined) {
  return (stored: PromptPrefix | undefined): PromptPrefix =>
    stored === undefined || stored.id === replaced?.id ? prefix : stored
}
