import type { Emit } from '../events.ts'
import { isRecord } from '../json.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import type { Store } from '../store/store.ts'
import { scheduleWithTimers } from '../time.ts'
import { type Conversation, NEW_CONVERSATION } from './conversation.ts'
import { describeFailure, readInTime, type StorePlace } from './persisted.ts'
import { PromptPrefix, type SentRequest } from './prompt-prefix.ts'
import { readSent, readShown, readState, readTold, storeKeeper } from './saved-state.ts'
import { hasHashes, type SharedDefinitions } from './shared-definitions.ts'
import { SharingStore } from './sharing-store.ts'
import { type SessionState, sentKey, sessionKey, shownKey, sinceKey } from './state.ts'

/** A session that was saved, if there is one, and its store for values with long lists of definitions. */
export interface FoundSession {
  readonly saved: (SavedSession & { readonly id: string }) | undefined
  readonly sharing: SharingStore | undefined
}

/** Reads saved sessions, from a state that the host passes or from a store. */
export class SavedSessions {
  readonly #definitions: SharedDefinitions
  readonly #emit: Emit
  readonly #now: () => number
  readonly #stores = new WeakMap<Store, SharingStore>()
  readonly keeper = storeKeeper

  constructor(definitions: SharedDefinitions, emit: Emit, now: () => number) {
    this.#definitions = definitions
    this.#emit = emit
    this.#now = now
  }

  /** Throws `config-invalid` for a state that cannot be used. */
  async find(
    { id, state, store }: WantedSession,
    { newest, hasDialect }: { readonly newest: Pick<ViewBuilder, 'current'>; readonly hasDialect: boolean },
  ): Promise<FoundSession> {
    const sharing = store && this.#sharing(store)
    const emit = this.#emit
    if (state !== undefined) {
      const whole = await completeState(state, { newest, store: sharing, definitions: this.#definitions })
      return { saved: givenSession(whole, { id, emit }, hasDialect), sharing }
    }
    const place = sharing && id !== undefined && { id, store: sharing, schedule: scheduleWithTimers, emit }
    const saved = place && (await loadSession(place, hasDialect))
    return { saved: saved && id !== undefined ? { ...saved, id } : undefined, sharing }
  }

  #sharing(store: Store): SharingStore {
    const known = this.#stores.get(store) ?? new SharingStore(store, this.#definitions, this.#now)
    this.#stores.set(store, known)
    return known
  }
}

/** Where a session may have been saved. */
export interface WantedSession {
  readonly id?: string | undefined
  readonly state?: SessionState | undefined
  readonly store?: Store | undefined
}

/** What a session was saved as. */
interface SavedSession {
  readonly conversation: Conversation
  readonly sent: SentRequest | undefined
  readonly allowlists: readonly (readonly string[])[]
}

/**
 * Returns a state with the definitions that its first request declares: from the newest catalogue, from sessions that have
 * them, or from the store. Those that are nowhere are left out.
 */
async function completeState(
  state: SessionState,
  {
    newest,
    store,
    definitions,
  }: {
    readonly newest: Pick<ViewBuilder, 'current'>
    readonly store: SharingStore | undefined
    readonly definitions: SharedDefinitions
  },
): Promise<SessionState> {
  if (!isRecord(state) || !hasHashes(state.firstRequest)) return state
  definitions.note(newest.current().deferredList.definitions)
  const known = definitions.lengthen(state)
  if (store === undefined || !hasHashes(known.firstRequest)) return known
  return readInTime(() => store.complete(state), scheduleWithTimers).catch(() => known)
}

/** Reads a state that the host passed. A first request that is damaged is an event, like one in a store. */
function givenSession(
  state: SessionState,
  { id: wanted, emit }: { readonly id: string | undefined; readonly emit: Emit },
  hasDialect: boolean,
): SavedSession & { readonly id: string } {
  const { id: own, activations: active, allowlists, shown = [] } = readState(state)
  const saved = { id: wanted ?? own, allowlists, conversation: { ...NEW_CONVERSATION, active, shown } }
  const { firstRequest } = state
  if (!hasDialect || firstRequest === undefined) return { ...saved, sent: undefined }
  try {
    const sent = readSent(firstRequest)
    const { start } = new PromptPrefix(sent)
    return { ...saved, sent, conversation: { ...saved.conversation, told: [start] } }
  } catch (error) {
    emit({ type: 'load-failed', sessionId: saved.id, error: describeFailure(error) })
    return { ...saved, sent: undefined }
  }
}

/**
 * Loads a session from a store. A store that hangs or fails is an event, and the session starts empty; so is a damaged
 * first request, and the session makes a new one. Throws `config-invalid` for a state that cannot be used.
 */
export async function loadSession(
  { id, store, schedule, emit }: Pick<StorePlace, 'id' | 'schedule' | 'emit'> & { readonly store: Store },
  hasDialect: boolean,
): Promise<SavedSession | undefined> {
  const load = <Value>(read: () => Promise<Value>): Promise<Value | undefined> =>
    readInTime(read, schedule).catch((error: unknown) => {
      emit({ type: 'load-failed', sessionId: id, error: describeFailure(error) })
      return undefined
    })
  const loadSent = async () => {
    const [sent, told] = await Promise.all([store.get(sentKey(id)), store.get(sinceKey(id))])
    return sent === undefined ? undefined : { sent: readSent(sent), told: readTold(told) }
  }
  const [[stored, shown] = [], first] = await Promise.all([
    load(() => Promise.all([sessionKey(id), shownKey(id)].map((key) => store.get(key)))),
    hasDialect ? load(loadSent) : undefined,
  ])
  if (stored === undefined && first === undefined && shown === undefined) return undefined
  const { activations: active, allowlists } = stored === undefined ? NOTHING_SAVED : readState(stored)
  const conversation = { active, told: first?.told ?? [], shown: readShown(shown) }
  return { conversation, sent: first?.sent, allowlists }
}

const NOTHING_SAVED = { activations: NEW_CONVERSATION.active, allowlists: [] }
