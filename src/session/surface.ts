import { hashText } from '../json.ts'
import type { Entry } from '../registry/entry.ts'
import { type DeferredList, View, type Viewpoint } from '../registry/view.ts'
import type { ToolDefinition } from '../tool.ts'

/**
 * How a surface grows as tools are checked out. append: definitions are added at the end. dispatch: nothing
 * changes, and calls go through `call_tool`. native: the provider defers; every definition is sent once.
 */
export type Strategy = 'append' | 'dispatch' | 'native'

/** The frozen set of tools that one turn shows. Equal catalogue and activations give equal bytes. */
export interface Surface {
  /** Pinned and undeferred tools by name, meta-tools, then activated ones in the order they were activated. */
  readonly tools: readonly ToolDefinition[]
  /** How many permitted tools are not shown: under append, those that are not activated. */
  readonly deferredCount: number
  readonly strategy: Strategy
  /** Changes exactly when the bytes of `tools` (or, under native, of `deferredTools` and `lateTools`) change. */
  readonly fingerprint: string
  /** Servers without `trust` that have a tool here, shown or deferred: their texts are not instructions. */
  readonly untrustedServers?: readonly string[]
  /** Under native only: every permitted deferred tool by name, available or not, for the provider to hold back. */
  readonly deferredTools?: readonly ToolDefinition[]
  /**
   * Under native only: deferred tools that came after the conversation's first request, in the order they came.
   * `deferredTools` stays as in that request, with tools that have left, so that bytes already sent never change.
   */
  readonly lateTools?: readonly ToolDefinition[]
}

/** What a surface is made of: available tools only. */
export interface SurfaceParts {
  readonly shown: readonly Entry[]
  readonly metaTools: readonly Entry[]
  readonly activated: readonly Entry[]
  readonly view: View
  readonly strategy: Strategy
}

/** Puts a turn's tools in their order and freezes them. Returns the surface of the turn before if nothing changed. */
export function buildSurface(parts: SurfaceParts, before?: Surface): Surface {
  const { strategy, view } = parts
  const entries = entriesOf(parts)
  const deferred: DeferredList | undefined = strategy === 'native' ? view.deferredList : undefined
  const deferredCount = hiddenCount(parts)
  const isAlike =
    before?.strategy === strategy &&
    before.deferredCount === deferredCount &&
    isSameList(before.untrustedServers ?? [], view.untrustedServers)
  if (isAlike && before.deferredTools === deferred?.definitions && showsOnly(before, entries)) return before
  const fingerprints = [...entries.map(({ fingerprint }) => fingerprint), deferred?.fingerprint ?? '']
  const fingerprint = hashText(fingerprints.join(' '))
  // Tools that were registered again may be what they were, to the byte.
  if (isAlike && before.fingerprint === fingerprint) return before
  return Object.freeze({
    tools: Object.freeze(entries.map(({ definition }) => definition)),
    deferredCount,
    strategy,
    fingerprint,
    ...(view.untrustedServers.length > 0 ? { untrustedServers: view.untrustedServers } : {}),
    ...(deferred ? { deferredTools: deferred.definitions } : {}),
  })
}

/** Whether a surface shows the very definitions of these entries. Definitions are frozen, so their bytes are the same too. */
function showsOnly({ tools }: Surface, entries: readonly Entry[]): boolean {
  return tools.length === entries.length && entries.every(({ definition }, at) => definition === tools[at])
}

function isSameList(first: readonly string[], second: readonly string[]): boolean {
  if (first === second) return true
  return first.length === second.length && first.every((text, at) => text === second[at])
}

function entriesOf({ shown, metaTools, strategy, activated }: SurfaceParts): readonly Entry[] {
  return [...shown, ...metaTools, ...(strategy === 'append' ? activated : [])]
}

/** How many permitted tools a turn does not show. */
export function hiddenCount({ strategy, view, activated }: SurfaceParts): number {
  return view.deferred.size - (strategy === 'append' ? activated.length : 0)
}

/** About how many tokens a turn with these tools costs. */
export function surfaceTokens(parts: SurfaceParts): number {
  return entriesOf(parts).reduce((sum, { tokens }) => sum + tokens, 0)
}

/** The texts that a request carries besides its tools. */
export interface RequestTexts {
  /** What lies behind the search, as its description lists it. */
  readonly behind: string
  /** The paragraph for the system prompt. */
  readonly promptNote: string
}

/**
 * The first request of a conversation, which all later ones repeat byte for byte: providers cache the beginning of a
 * request, and some models reject a conversation whose tools have changed. What was shown stays shown and what was
 * deferred stays deferred, even if its server has left. Tools that come later are late tools: deferred, whatever they
 * are elsewhere, and found by the search.
 */
export class FirstRequest {
  readonly texts: RequestTexts
  readonly surface: Surface
  readonly #shown: ReadonlySet<string>
  readonly #sent: ReadonlyMap<string, ToolDefinition>
  readonly #late = new Map<string, ToolDefinition>()
  #newest: Surface
  /** The view all of whose tools were sent or are late. */
  #gathered: View | undefined
  #toldServers: ReadonlySet<string>

  constructor(surface: Surface, texts: RequestTexts, view: View) {
    this.surface = surface
    this.texts = texts
    this.#newest = surface
    this.#shown = new Set(surface.tools.map(({ name }) => name))
    const sent = [...surface.tools, ...(surface.deferredTools ?? [])]
    this.#sent = new Map(sent.map((definition) => [definition.name, definition]))
    this.#toldServers = new Set(view.serverNames())
  }

  /** Divides the permitted tools of a newer catalogue as in this request. */
  divide(view: View): View {
    const permitted = [...view.shown, ...view.deferred.values()]
    const shown = permitted.filter(({ name }) => this.#shown.has(name))
    const isAlike =
      shown.length === view.shown.length && view.shown.every(({ name }) => this.#shown.has(name))
    if (isAlike) return view
    const deferred = permitted.filter(({ name }) => !this.#shown.has(name))
    const { isAuto } = view.mode
    const mode = { isLazy: true, isAuto, reason: 'as in the first request of the conversation' }
    return new View(view.snapshot, mode, view.policy, {
      shown: shown.sort(byName),
      deferred: deferred.sort(byName),
    })
  }

  /** Returns the surface of a later request: this one, with the tools that came since. */
  grown(view: View, isAvailable: (entry: Entry) => boolean): Surface {
    if (this.surface.strategy === 'native' && view !== this.#gathered) this.#gather(view, isAvailable)
    const { deferredCount, lateTools = [] } = this.#newest
    if (lateTools.length === this.#late.size && deferredCount === view.deferred.size) return this.#newest
    const late = Object.freeze([...this.#late.values()])
    this.#newest = Object.freeze({
      ...this.surface,
      deferredCount: view.deferred.size,
      ...(late.length > 0 ? { lateTools: late, fingerprint: this.#fingerprintWith(late) } : {}),
    })
    return this.#newest
  }

  /** How many tools a request declares, late ones and those that have left included. */
  countWith(view: View): number {
    const late = [...view.deferred.keys()].filter((name) => !this.#sent.has(name) && !this.#late.has(name))
    return this.#sent.size + this.#late.size + late.length
  }

  /** Whether a request of this conversation declared the tool. */
  hasSent(name: string): boolean {
    return this.#sent.has(name) || this.#late.has(name)
  }

  /** Whether the model was shown another definition than the tool has now. */
  hasSentOther({ name, definition }: Entry): boolean {
    const sent = this.#sent.get(name) ?? this.#late.get(name)
    return sent !== undefined && sent !== definition && JSON.stringify(sent) !== JSON.stringify(definition)
  }

  /** Returns the servers that joined or left since this was last asked: the description of the search still names the old ones. */
  takeServerChanges(view: View): { readonly joined: readonly string[]; readonly left: readonly string[] } {
    const servers = view.serverNames()
    const joined = servers.filter((server) => !this.#toldServers.has(server))
    const left = [...this.#toldServers].filter((server) => !servers.includes(server))
    this.#toldServers = new Set(servers)
    return { joined, left }
  }

  #gather(view: View, isAvailable: (entry: Entry) => boolean): void {
    let isComplete = true
    for (const [name, entry] of view.deferred) {
      if (this.hasSent(name)) continue
      if (isAvailable(entry)) this.#late.set(name, entry.definition)
      else isComplete = false
    }
    if (isComplete) this.#gathered = view
  }

  #fingerprintWith(late: readonly ToolDefinition[]): string {
    return hashText(
      [this.surface.fingerprint, ...late.map((definition) => JSON.stringify(definition))].join(' '),
    )
  }
}

/** How one session sees the catalogue: as others with the same settings, and from its first request on as in that one. */
export class SessionViewpoint implements Pick<Viewpoint, 'policy' | 'current' | 'explain'> {
  readonly #viewpoint: Viewpoint
  /** How many tools the provider takes in one request. */
  readonly #maxTools: number
  #first: FirstRequest | undefined
  #steady: { readonly of: View; readonly view: View } | undefined

  constructor(viewpoint: Viewpoint, maxTools = Number.POSITIVE_INFINITY) {
    this.#viewpoint = viewpoint
    this.#maxTools = maxTools
  }

  get policy(): Viewpoint['policy'] {
    return this.#viewpoint.policy
  }

  /** The first request, once it was made. */
  get first(): FirstRequest | undefined {
    return this.#first
  }

  begin(first: FirstRequest): void {
    this.#first = first
    this.#steady = undefined
  }

  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string {
    const isDeferred = this.current().deferred.has(entry.name)
    if (isDeferred === this.#viewpoint.current().deferred.has(entry.name))
      return this.#viewpoint.explain(entry)
    return isDeferred
      ? 'it was not shown in the first request of the conversation, whose bytes stay'
      : 'it was shown in the first request of the conversation, whose bytes stay'
  }

  current(): View {
    const view = this.#viewpoint.current()
    if (this.#first === undefined) return view
    if (this.#steady?.of !== view) this.#steady = { of: view, view: this.#divide(view, this.#first) }
    return this.#steady.view
  }

  #divide(view: View, first: FirstRequest): View {
    const divided = first.divide(view)
    const { strategy } = first.surface
    if (strategy !== 'native' || first.countWith(divided) < this.#maxTools) return divided
    // The provider takes no more tools: another strategy has to begin, whatever that costs.
    this.#first = undefined
    return view
  }
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}
