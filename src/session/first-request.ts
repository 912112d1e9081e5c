import { hashText } from '../json.ts'
import type { Entry } from '../registry/entry.ts'
import type { View } from '../registry/view.ts'
import { type CallResult, type ToolDefinition, UNTRUSTED_NOTE } from '../tool.ts'
import type { SentRequest } from './sent-request.ts'
import type { Surface } from './surface.ts'

/** How many late tools that have left are kept: a server may rename its tools forever. */
const MAX_LEFT = 500

/**
 * The first request of a conversation, which all later ones repeat byte for byte: providers cache the beginning of a
 * request, and some models reject a conversation whose tools have changed. What was shown stays shown and what was
 * deferred stays deferred, even if its server has left. Tools that come later are late tools: deferred, whatever they
 * are elsewhere, and found by the search.
 */
export class FirstRequest {
  readonly surface: Surface
  readonly behind: string
  readonly promptNote: string
  readonly #settings: string
  readonly #shown: ReadonlySet<string>
  readonly #sent: ReadonlyMap<string, ToolDefinition>
  #late: Map<string, ToolDefinition>
  #newest: Surface | undefined
  /** The fingerprint with the late tools so far, and how many those are. */
  #hashed: { readonly fingerprint: string; readonly count: number }
  /** Late tools that the model knows of, since they were activated. */
  readonly #found = new Set<string>()
  /** The view all of whose tools were sent or are late. */
  #gathered: View | undefined
  #toldServers: ReadonlySet<string>
  /** The list of servers when they were last compared: views share it while no server joins or leaves. */
  #comparedServers: readonly string[] | undefined
  #isWarned: boolean
  #changes = 0

  constructor({ settings, surface, behind, promptNote, lateTools, servers, isWarned }: SentRequest) {
    this.surface = surface
    this.behind = behind
    this.promptNote = promptNote
    this.#settings = settings
    this.#newest = surface
    this.#hashed = { fingerprint: surface.fingerprint, count: 0 }
    this.#shown = new Set(surface.tools.map(({ name }) => name))
    const sent = [...surface.tools, ...(surface.deferredTools ?? [])]
    this.#sent = new Map(sent.map((definition) => [definition.name, definition]))
    this.#late = new Map(lateTools.map((definition) => [definition.name, definition]))
    this.#toldServers = new Set(servers)
    this.#isWarned = isWarned
  }

  /** How often it has changed since it was made or restored. */
  get changes(): number {
    return this.#changes
  }

  /** Whether it shows a search, through which tools that come later are found. */
  get hasSearch(): boolean {
    return this.behind !== ''
  }

  /** Divides the permitted tools of a newer catalogue as in this request. */
  divide(view: View): View {
    return view.showing(this.#shown, 'as in the first request of the conversation')
  }

  /**
   * Returns the surface of a later request: this one, with the tools that came since. Where late tools are declared in
   * each request, none is dropped; elsewhere, those that have left are kept up to a limit.
   */
  grown(
    view: View,
    isAvailable: (entry: Entry) => boolean,
    { declaresLateTools }: { readonly declaresLateTools: boolean },
  ): Surface {
    if (this.surface.strategy === 'native' && view !== this.#gathered) {
      this.#gather(view, isAvailable)
      if (!declaresLateTools) this.#dropLeft(view)
    }
    const { deferredCount, lateTools = [] } = this.#newest ?? {}
    if (this.#newest && lateTools.length === this.#late.size && deferredCount === view.deferred.size)
      return this.#newest
    const late = Object.freeze([...this.#late.values()])
    this.#newest = Object.freeze({
      ...this.surface,
      deferredCount: view.deferred.size,
      ...(late.length > 0 ? { lateTools: late, fingerprint: this.#fingerprintWith(late) } : {}),
    })
    return this.#newest
  }

  /** How many tools the first request declares. */
  get sentCount(): number {
    return this.#sent.size
  }

  /** How many tools a request declares, late ones and those that have left included. */
  countWith(view: View): number {
    const late = [...view.deferred.keys()].filter((name) => !this.#sent.has(name) && !this.#late.has(name))
    return this.#sent.size + this.#late.size + late.length
  }

  /** Notes tools that the model knows of: of those that have left, these are dropped last. */
  noteFound(names: readonly string[]): void {
    for (const name of names) if (this.#late.has(name)) this.#found.add(name)
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
    if (servers === this.#comparedServers) return { joined: [], left: [] }
    const joined = servers.filter((server) => !this.#toldServers.has(server))
    const present = new Set(servers)
    const left = [...this.#toldServers].filter((server) => !present.has(server))
    if (joined.length + left.length > 0) this.#changes++
    this.#toldServers = present
    this.#comparedServers = servers
    return { joined, left }
  }

  /**
   * Adds the warning about servers without `trust` to the first result that quotes one, unless this request has it: the
   * first such server may join late.
   */
  warn(results: CallResult[]): CallResult[] {
    const quoting = this.#isWarned ? -1 : results.findIndex(({ untrusted }) => untrusted !== undefined)
    const result = results[quoting]
    if (!result?.untrusted) return results
    this.#isWarned = true
    this.#changes++
    return results.with(quoting, { ...result, untrusted: { ...result.untrusted, note: UNTRUSTED_NOTE } })
  }

  /** Adopts the late tools and servers of a newer state of this request, so that replicas have them in the same order. */
  adopt({ lateTools, servers, isWarned }: SentRequest): void {
    const names = [...this.#late.keys()]
    const isSame =
      lateTools.length === names.length && lateTools.every(({ name }, index) => name === names[index])
    if (!isSame) {
      this.#setLate(lateTools)
      this.#gathered = undefined
    }
    this.#toldServers = new Set(servers)
    this.#comparedServers = undefined
    this.#isWarned = isWarned
  }

  toJSON(): SentRequest {
    return {
      settings: this.#settings,
      surface: this.surface,
      behind: this.behind,
      promptNote: this.promptNote,
      lateTools: [...this.#late.values()],
      servers: [...this.#toldServers],
      isWarned: this.#isWarned,
    }
  }

  #gather(view: View, isAvailable: (entry: Entry) => boolean): void {
    let isComplete = true
    for (const [name, entry] of view.deferred) {
      if (this.hasSent(name)) continue
      if (!isAvailable(entry)) isComplete = false
      else {
        this.#late.set(name, entry.definition)
        this.#changes++
      }
    }
    if (isComplete) this.#gathered = view
  }

  #dropLeft(view: View): void {
    const left = [...this.#late.keys()].filter((name) => view.snapshot.get(name) === undefined)
    if (left.length <= MAX_LEFT) return
    const isFound = (name: string) => this.#found.has(name)
    const oldestFirst = [...left.filter((name) => !isFound(name)), ...left.filter(isFound)]
    // Down to half of the limit: each time, all fingerprints are computed again.
    const dropped = new Set(oldestFirst.slice(0, left.length - MAX_LEFT / 2))
    this.#setLate([...this.#late.values()].filter(({ name }) => !dropped.has(name)))
    for (const name of dropped) this.#found.delete(name)
    this.#changes++
  }

  #setLate(lateTools: readonly ToolDefinition[]): void {
    this.#late = new Map(lateTools.map((definition) => [definition.name, definition]))
    this.#newest = undefined
    this.#hashed = { fingerprint: this.surface.fingerprint, count: 0 }
  }

  /** Each late tool is added to the fingerprint of those before it, so that many of them cost no more than the new ones. */
  #fingerprintWith(late: readonly ToolDefinition[]): string {
    const added = late.slice(this.#hashed.count)
    const fingerprint = added.reduce(
      (before, definition) => hashText(`${before} ${JSON.stringify(definition)}`),
      this.#hashed.fingerprint,
    )
    this.#hashed = { fingerprint, count: late.length }
    return fingerprint
  }
}
