import { ToolcribError } from '../errors.ts'
import { hashText, isRecord } from '../json.ts'
import type { StoredValue } from '../store/store.ts'
import type { Activation, Activations } from './activations.ts'
import type { SentRequest } from './sent-request.ts'

/** A session as plain JSON: what `toJSON()` returns and `openSession({ state })` takes. */
export interface SessionState {
  readonly version: 1
  readonly id: string
  /** In the order they were activated. */
  readonly activations: readonly Activation[]
  /** What the requests of its conversation begin with; absent before the first one, and without a dialect. */
  readonly firstRequest?: SentRequest
  /** What a forked session is limited to, besides its policy. */
  readonly allowlists?: readonly (readonly string[])[]
  /** Ties the allowlists of a forked session to its id, so that a state that was edited is refused. */
  readonly seal?: string
}

/** Writes a session's state. */
export function writeState(
  id: string,
  activations: Activations,
  allowlists: readonly (readonly string[])[],
): SessionState {
  if (allowlists.length === 0 && !isForkId(id)) return { version: 1, id, activations }
  return { version: 1, id, activations, allowlists, seal: sealOf(id, allowlists) }
}

/**
 * Validates saved JSON, which may come from another version or be truncated. Throws `config-invalid` for what cannot be
 * used, and for the state of a fork whose allowlists do not match its seal. `givenSent` reads the first request.
 */
export function readState(saved: unknown): Omit<SessionState, 'firstRequest'> {
  if (!isRecord(saved)) throw invalid('it is not an object')
  if (saved.version !== 1)
    throw invalid(`its version is ${JSON.stringify(saved.version) ?? 'missing'}, not 1`)
  if (typeof saved.id !== 'string') throw invalid('it has no id')
  if (!Array.isArray(saved.activations)) throw invalid('it has no list of activations')
  const activations = saved.activations.map(readActivation)
  if (new Set(activations.map(({ name }) => name)).size < activations.length)
    throw invalid('a tool is activated twice')
  const { id, allowlists = [], seal } = saved
  if (!Array.isArray(allowlists) || !allowlists.every(isNameList)) throw invalid('its allowlists are damaged')
  const isSealed = allowlists.length > 0 || isForkId(id) || seal !== undefined
  if (isSealed && seal !== sealOf(id, allowlists)) throw invalid('its allowlists were changed')
  return { version: 1, id, activations, allowlists }
}

/** The key of a session in a store. */
export function sessionKey(id: string): string {
  return `session:${id}`
}

/** Reads the stored state of a session; undefined when there is none. Throws like `readState`. */
export function readSaved(value: StoredValue | undefined): SessionState | undefined {
  return value === undefined ? undefined : readState(value)
}

/** The number of the newest change of each writer in a stored state, the most recent writer last. */
export type Writers = ReadonlyMap<string, number>

/** Writes a session as a store keeps it. */
export function writeSaved(state: SessionState, writers: Writers): StoredValue {
  // A state is JSON by construction, but its type has optional fields, which JSON does not.
  return JSON.parse(JSON.stringify({ ...state, writers: [...writers] }))
}

export function readWriters(value: StoredValue | undefined): Writers {
  const writers = isRecord(value) && Array.isArray(value.writers) ? value.writers : []
  return new Map(writers.filter(isWriter))
}

/** How many writers a stored state remembers: far more than the replicas that write to one session at a time. */
const MAX_WRITERS = 16

export function withWriter(writers: Writers, writer: string, number: number): Writers {
  const others = [...writers].filter(([name]) => name !== writer)
  return new Map([...others.slice(1 - MAX_WRITERS), [writer, number]])
}

/** Whether a stored state lacks a change that the store had confirmed: it lost its data, or went back to older ones. */
export function hasLost(writers: Writers, writer: string, confirmed: number): boolean {
  const number = writers.get(writer)
  // One that others have pushed out may have lost nothing.
  return number === undefined ? confirmed > 0 && writers.size < MAX_WRITERS : number < confirmed
}

function isWriter(pair: unknown): pair is [string, number] {
  return Array.isArray(pair) && typeof pair[0] === 'string' && isCount(pair[1])
}

/** The id of a fork starts with its parent's: `conversation/1`. */
export function isForkId(id: string): boolean {
  return /\/\d+$/.test(id)
}

// Not a signature: anyone can compute it for a state of their own. It keeps a fork from being opened without its limits by
// mistake, or by an edit that leaves the seal as it was.
function sealOf(id: string, allowlists: readonly (readonly string[])[]): string {
  return hashText(JSON.stringify(['allowlists', id, allowlists]))
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

function isNameList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
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
