import { CallRunner } from '../call/call-runner.ts'
import type { CallHooks, CallSettings } from '../call/call-scope.ts'
import { CallState } from '../call/call-state.ts'
import type { Spill } from '../call/spill.ts'
import type { CapabilityBackends } from '../capability.ts'
import { ToolcribError } from '../errors.ts'
import { EventStream } from '../events.ts'
import { DeferredNotes, type SearchLimit } from '../meta-tools/session-meta-tools.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import { ModeHistory } from '../registry/mode.ts'
import { Availability } from '../registry/view.ts'
import { type Scene, SharedViewpoints } from '../registry/viewpoint.ts'
import { ToolFinder } from '../search/tool-finder.ts'
import { mapTexts } from '../secrets/map-texts.ts'
import { maskFor } from '../secrets/mask.ts'
import type { Store } from '../store/store.ts'
import type { TokenCounter } from '../text.ts'
import { type Schedule, scheduleInBackground, scheduleWithTimers } from '../time.ts'
import type { Meter } from '../usage.ts'
import type { Activations } from './activations.ts'
import type { WritePlace } from './patient-writes.ts'
import { loadState } from './saved-activations.ts'
import { givenSent, loadSent } from './saved-first-request.ts'
import type { SentRequest } from './sent-request.ts'
import { Session } from './session.ts'
import type { SessionDialect, SessionSettings } from './settings.ts'
import { readState, type SessionState } from './state.ts'

/** The complete settings of a registry for all its sessions and calls. */
export interface ServiceSettings extends Omit<CallSettings, 'availability' | 'emit'> {
  readonly countTokens: TokenCounter | undefined
  readonly now: () => number
  /** Returns the id of a session that was opened without one. */
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

/** Where a session comes from, and where it is saved. */
export interface SessionOrigin {
  /** A random id when absent. */
  readonly id?: string
  /** What `toJSON()` returned, to continue where that session stopped. Replaces what the store has under its id. */
  readonly state?: SessionState
  /** Loads the session by `id`, and saves it after every change. A store that fails or hangs breaks nothing. */
  readonly store?: Store
  /** The only tools it may use, besides what its policy says: names and globs, as in `fork({ tools })`. */
  readonly tools?: readonly string[]
}

/** What a session starts with. */
export interface SessionParameters<Dialect extends SessionDialect> {
  readonly id: string
  readonly settings: SessionSettings<Dialect>
  /** What it starts with. */
  readonly activations: Activations
  /** What its requests begin with, when some were sent already. */
  readonly sent?: SentRequest | undefined
  /** True when those replace the stored state, because the host passed them. */
  readonly replacesSaved?: boolean
  readonly store?: Store | undefined
  readonly parentId?: string
  /** Hooks of the calls during which it was forked; they apply here too. */
  readonly hooks?: readonly CallHooks[]
  /** Meters of these calls. */
  readonly meters?: readonly Meter[]
  /** Its parent's, which a fork shares; a new one when absent. */
  readonly searchLimit?: SearchLimit
}

/** Opens a new session, or one from saved state or a store. Throws `config-invalid` for a state that cannot be used. */
export async function openSession<Dialect extends SessionDialect>(
  services: SessionServices,
  { id, state, store, tools }: SessionOrigin,
  settings: SessionSettings<Dialect>,
): Promise<Session<Dialect>> {
  if (store && id === undefined && state === undefined)
    throw new ToolcribError('config-invalid', 'a session with a store needs an id, to be found by later')
  const { events, schedule, newId } = services
  const given = state === undefined ? undefined : readState(state)
  const sessionId = id ?? given?.id ?? newId()
  const from = { id: sessionId, schedule, emit: events.emit }
  const { saved, sent } =
    given && state
      ? { saved: given, sent: settings.dialect && givenSent(state, from) }
      : await loadSaved(store, settings.dialect, from)
  const session = new Session<Dialect>(services, {
    id: sessionId,
    settings: { ...settings, allowlists: withList(saved?.allowlists ?? [], tools) },
    activations: saved?.activations ?? [],
    sent,
    replacesSaved: given !== undefined,
    store,
  })
  // Definitions that changed since it was saved are reported now, not with the first surface.
  if (saved) session.promptNote()
  return session
}

/** Loads the saved parts of a session from a store. */
async function loadSaved(
  store: Store | undefined,
  dialect: SessionDialect | undefined,
  from: Pick<WritePlace, 'id' | 'schedule' | 'emit'>,
): Promise<{ saved?: SessionState | undefined; sent?: SentRequest | undefined }> {
  if (store === undefined) return {}
  const place = { ...from, store }
  const [saved, sent] = await Promise.all([loadState(place), dialect && loadSent(place)])
  return { saved, sent }
}

/** A session that is reopened with the same tools keeps a single list of them. */
function withList(
  allowlists: readonly (readonly string[])[],
  tools: readonly string[] | undefined,
): readonly (readonly string[])[] {
  if (tools === undefined) return allowlists
  const text = JSON.stringify(tools)
  return allowlists.some((list) => JSON.stringify(list) === text) ? allowlists : [...allowlists, tools]
}
