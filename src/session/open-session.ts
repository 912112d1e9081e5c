import { ToolcribError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { loadState } from './saved-activations.ts'
import { loadSent } from './saved-first-request.ts'
import { Session } from './session.ts'
import type { SessionServices } from './session-services.ts'
import type { SessionDialect, SessionSettings } from './settings.ts'
import { readState, type SessionState } from './state.ts'

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
  const from = { id: sessionId, store, schedule, emit: events.emit }
  const [saved, sent] = given
    ? [given, given.firstRequest]
    : await Promise.all([loadState(sessionId, from), settings.dialect ? loadSent(from) : undefined])
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

/** A session that is opened again with the same tools keeps one list of them. */
function withList(
  allowlists: readonly (readonly string[])[],
  tools: readonly string[] | undefined,
): readonly (readonly string[])[] {
  if (tools === undefined) return allowlists
  const text = JSON.stringify(tools)
  return allowlists.some((list) => JSON.stringify(list) === text) ? allowlists : [...allowlists, tools]
}
