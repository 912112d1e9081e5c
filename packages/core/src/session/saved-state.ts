import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { StoredValue } from '../store/store.ts'
import type { ToolDefinition } from '../tool.ts'
import { type Activation, type Activations, type Caps, mergeActivations } from './activations.ts'
import { mergeTold, type Told } from './conversation.ts'
import type { Keeper } from './kept.ts'
import { type Keeping, Persisted, type StorePlace } from './persisted.ts'
import { type PromptPrefix, type SentRequest, SharedPrefixes } from './prompt-prefix.ts'
import { areDefinitions, hasHashes } from './shared-definitions.ts'
import {
  type Allowlists,
  isForkId,
  type SessionState,
  sealOf,
  sentKey,
  sessionKey,
  shownKey,
  sinceKey,
  withLists,
  writeState,
} from './state.ts'
import type { Surface } from './surface.ts'

/** Keeps the parts of a session in a store; those with lists of definitions in another place. */
export function storeKeeper(place: StorePlace, placeOfLists: StorePlace): Keeper {
  const { id } = place
  return {
    active: (value, { onMerge, ...limits }) =>
      new Persisted(value, { ...activeKeeping(id, limits), onMerge }, place),
    shown: (names) => new Persisted(names, shownKeeping(id), place),
    told: (value, onMerge) => new Persisted(value, { ...toldKeeping(id), onMerge }, placeOfLists),
    prefix: (value, { settings, prefixes }) =>
      new Persisted(value, prefixKeeping(id, settings, prefixes), placeOfLists),
  }
}

/**
 * Validates saved JSON, which may come from another version or be truncated. Throws `config-invalid` for what cannot be
 * used, and for the state of a fork whose allowlists do not match its seal. `readSent` reads the first request.
 */
export function readState(
  saved: unknown,
): Omit<SessionState, 'firstRequest'> & { readonly allowlists: Allowlists } {
  if (!isRecord(saved)) throw invalid('it is not an object')
  if (saved.version !== 1)
    throw invalid(`its version is ${JSON.stringify(saved.version) ?? 'missing'}, not 1`)
  if (typeof saved.id !== 'string') throw invalid('it has no id')
  if (!Array.isArray(saved.activations)) throw invalid('it has no list of activations')
  const activations = saved.activations.map(readActivation)
  if (new Set(activations.map(({ name }) => name)).size < activations.length)
    throw invalid('a tool is activated twice')
  const { id, allowlists = [], seal, shown } = saved
  if (!Array.isArray(allowlists) || !allowlists.every(isTextList)) throw invalid('its allowlists are damaged')
  const isSealed = allowlists.length > 0 || isForkId(id) || seal !== undefined
  if (isSealed && seal !== sealOf(id, allowlists)) throw invalid('its allowlists were changed')
  return { version: 1, id, activations, allowlists, ...(isTextList(shown) ? { shown } : {}) }
}

/** Narrows a saved first request. Throws `config-invalid` for what cannot be used. */
export function readSent(saved: unknown): SentRequest {
  if (isRecord(saved) && isSentSurface(saved.surface) && hasNews(saved)) {
    const { settings, behind, promptNote, lateTools, servers, isWarned } = saved
    const surface = Object.freeze({ ...saved.surface })
    if (typeof settings === 'string' && typeof behind === 'string' && typeof promptNote === 'string')
      return { settings, surface, behind, promptNote, lateTools, servers, isWarned }
  }
  const problem = hasHashes(saved) ? 'needs definitions that are not kept here or have expired' : 'is damaged'
  throw new ToolcribError(
    'config-invalid',
    `the saved first request of this session ${problem}; the session makes a new one`,
  )
}

/** How what is checked out is kept in a store, with the limits of its session. */
export function activeKeeping(
  id: string,
  { caps, allowlists }: { readonly caps: Caps; readonly allowlists: Allowlists },
): Keeping<Activations> {
  return {
    key: sessionKey(id),
    what: `the session "${id}"`,
    read: (stored) => readState(stored).activations,
    // Opening a session without its limits, for example during an outage, must not drop the stored ones.
    write: (active, stored) =>
      writeState(id, active, withLists(allowlists, stored === undefined ? [] : readState(stored).allowlists)),
    merge: (active, difference) => mergeActivations(active, { from: [], ...difference }, caps),
    isEmpty: (active) => active.length === 0,
  }
}

/** How what was told is kept in a store. */
export function toldKeeping(id: string): Keeping<readonly Told[]> {
  return {
    key: sinceKey(id),
    what: `what the session "${id}" was told`,
    read: readTold,
    // Earlier versions know only what was told since the newest prefix.
    write: (told) =>
      told.at(-1) && { ...told.at(-1), ...(told.length > 1 ? { earlier: told.slice(0, -1) } : {}) },
    merge: mergeTold,
    isEmpty: (told) => told.length === 0,
  }
}

/** How the names of the tools that were shown are kept in a store. */
export function shownKeeping(id: string): Keeping<readonly string[]> {
  return {
    key: shownKey(id),
    what: `what the session "${id}" shows`,
    read: (stored) => readShown(stored),
    write: (names) => (names.length > 0 ? { names } : undefined),
    merge: (_names, { to }) => to,
    isEmpty: (names) => names.length === 0,
  }
}

/** How the prefix of a session with these settings is kept in a store. Others may be replaced, as may damaged ones. */
export function prefixKeeping(
  id: string,
  settings: string | undefined,
  prefixes = new SharedPrefixes(),
): Keeping<PromptPrefix | undefined> {
  return {
    key: sentKey(id),
    what: `the first request of the session "${id}"`,
    read(stored) {
      try {
        const prefix = prefixes.of({ ...readSent(stored), lateTools: [] })
        return prefix.sent.settings === settings ? prefix : undefined
      } catch {
        return undefined
      }
    },
    write: (prefix) => prefix?.sent,
    merge: (_prefix, { to }) => to,
    isEmpty: (prefix) => prefix === undefined,
  }
}

/** What is damaged counts as nothing shown. */
export function readShown(stored: StoredValue | undefined): readonly string[] | undefined {
  return isRecord(stored) && isTextList(stored.names) ? stored.names : undefined
}

/** What is damaged is left out: the model is told again. */
export function readTold(stored: StoredValue | undefined): readonly Told[] {
  if (!isRecord(stored)) return []
  const { earlier = [], of, lateTools, servers, isWarned } = stored
  const all: readonly unknown[] = [
    ...(Array.isArray(earlier) ? earlier : []),
    { of, lateTools, servers, isWarned },
  ]
  return all.filter(isTold)
}

function readActivation(saved: unknown): Activation {
  if (!isRecord(saved)) throw invalid('an activation is not an object')
  const { name, fingerprint, tokens, isKept, lastUse } = saved
  if (typeof name !== 'string' || typeof fingerprint !== 'string')
    throw invalid('an activation lacks its name or fingerprint')
  if (!isCount(tokens) || !isCount(lastUse) || typeof isKept !== 'boolean')
    throw invalid(`the activation of "${name}" is damaged`)
  return { name, fingerprint, tokens, isKept, lastUse }
}

function isTold(value: unknown): value is Told {
  return isRecord(value) && typeof value.of === 'string' && hasNews(value)
}

function hasNews(value: Record<string, unknown>): value is Record<string, unknown> & Omit<Told, 'of'> {
  return areDefinitions(value.lateTools) && isTextList(value.servers) && typeof value.isWarned === 'boolean'
}

function isSentSurface(value: unknown): value is Surface {
  if (!isRecord(value)) return false
  const { tools, deferredTools = [], untrustedServers = [], strategy, fingerprint, deferredCount } = value
  const areLists = areDefinitions(tools) && areDefinitions(deferredTools) && isTextList(untrustedServers)
  const isSorted = areLists && isSortedByName(deferredTools)
  const isStrategy = strategy === 'native' || strategy === 'dispatch'
  return isSorted && isStrategy && typeof fingerprint === 'string' && Number.isSafeInteger(deferredCount)
}

function isSortedByName(definitions: readonly ToolDefinition[]): boolean {
  return definitions.every(({ name }, at) => at === 0 || (definitions[at - 1]?.name ?? '') < name)
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function invalid(reason: string): ToolcribError {
  return new ToolcribError(
    'config-invalid',
    `this session state cannot be used: ${reason}; open a new session instead`,
  )
}
