import { CallRunner } from '../call/call-runner.ts'
import type { CallSettings } from '../call/call-scope.ts'
import { CallState } from '../call/call-state.ts'
import type { Spill } from '../call/spill.ts'
import type { CapabilityBackends } from '../capability.ts'
import { EventStream } from '../events.ts'
import { DeferredNotes } from '../meta-tools/session-meta-tools.ts'
import { Availability } from '../registry/availability.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import { ModeHistory } from '../registry/mode.ts'
import { type Scene, SharedViewpoints } from '../registry/view.ts'
import { ToolFinder } from '../search/tool-finder.ts'
import { mapTexts } from '../secrets/map-texts.ts'
import { maskFor } from '../secrets/mask.ts'
import type { TokenCounter } from '../text.ts'
import { type Schedule, scheduleInBackground, scheduleWithTimers } from '../time.ts'

/** What the registry decides for all its sessions and calls, with no gaps. */
export interface ServiceSettings extends Omit<CallSettings, 'availability' | 'emit'> {
  readonly countTokens: TokenCounter | undefined
  readonly now: () => number
  /** Names a session that was opened without an id. */
  readonly newId: () => string
  /** How long a search waits for servers that are connecting. */
  readonly serverWaitMs: number
  /** The size limit of one answer of a search tool, in tokens. */
  readonly answerTokens: number
  /** The size limit of the list of names in the description of the search tool, in tokens. */
  readonly noteTokens: number
  /** The limit of a search that names none. */
  readonly searchLimit: number
  /** How many close names are suggested at most. */
  readonly suggestions: number
}

/** What all sessions of a registry share, and its calls without a session. */
export class SessionServices {
  readonly events: EventStream
  readonly availability: Availability
  readonly finder: ToolFinder
  readonly runner: CallRunner
  /** The catalogue and its history, as viewpoints look at them. */
  readonly scene: Scene
  readonly viewpoints: SharedViewpoints
  readonly notes: DeferredNotes
  readonly spill: Spill | undefined
  readonly backends: CapabilityBackends
  readonly countTokens: TokenCounter | undefined
  readonly answerTokens: number
  readonly now: () => number
  readonly newId: () => string
  readonly schedule: Schedule = scheduleWithTimers
  readonly background: Schedule = scheduleInBackground

  constructor(catalogue: Catalogue, settings: ServiceSettings) {
    const { now, spill, countTokens, newId, answerTokens, noteTokens } = settings
    const mask = maskFor(settings.backends)
    this.events = new EventStream({
      now,
      mask: mask && ((event) => mapTexts(event, mask) as typeof event),
    })
    const { emit } = this.events
    this.availability = new Availability(emit)
    const shared = { ...settings, availability: this.availability, emit }
    this.finder = new ToolFinder({ ...shared, catalogue })
    this.runner = new CallRunner(shared, new CallState({ now }))
    this.scene = { catalogue, modes: new ModeHistory(catalogue, emit) }
    this.viewpoints = new SharedViewpoints(this.scene)
    this.notes = new DeferredNotes(noteTokens)
    this.spill = spill
    this.backends = settings.backends
    this.countTokens = countTokens
    this.answerTokens = answerTokens
    this.now = now
    this.newId = newId
  }
}
