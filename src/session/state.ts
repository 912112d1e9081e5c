import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Activation } from './activations.ts'

/** A session as plain JSON: what `toJSON()` gives and `openSession({ state })` takes. */
export interface SessionState {
  readonly version: 1
  readonly id: string
  /** In the order they were activated. */
  readonly activations: readonly Activation[]
  /** What a forked session is limited to, besides its policy. */
  readonly allowlists?: readonly (readonly string[])[]
}

/** Where sessions rest between turns and restarts. */
export interface SessionStore {
  load(id: string): Promise<SessionState | undefined>
  save(state: SessionState): Promise<void>
}

/** Narrows saved JSON, which may come from another version or be cut short, or throws `config-invalid`. */
export function readState(saved: unknown): SessionState {
  if (!isRecord(saved)) throw invalid('it is not an object')
  if (saved.version !== 1)
    throw invalid(`its version is ${JSON.stringify(saved.version) ?? 'missing'}, not 1`)
  if (typeof saved.id !== 'string') throw invalid('it has no id')
  if (!Array.isArray(saved.activations)) throw invalid('it has no list of activations')
  const { allowlists = [] } = saved
  if (!Array.isArray(allowlists) || !allowlists.every(isNameList)) throw invalid('its allowlists are damaged')
  return { version: 1, id: saved.id, activations: saved.activations.map(readActivation), allowlists }
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
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function invalid(reason: string): ToolcribError {
  return new ToolcribError(
    'config-invalid',
    `this session state cannot be used: ${reason}; open a new session instead`,
  )
}
