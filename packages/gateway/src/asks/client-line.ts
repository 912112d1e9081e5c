import type { ProgressNote } from '@toolcrib/core'
import { withoutHidden } from '@toolcrib/core/internal'
import { isJson, type Json, MISSING_CAPABILITY, RpcError } from '../json-rpc.ts'
import type { Era } from '../protocol.ts'

/**
 * Reaches the client of one request while that request is in flight. Progress, log messages and questions of the server
 * go through it.
 */
export interface ClientLine {
  readonly era: Era
  /** Requests with the same owner certainly come from the same client. */
  readonly owner: string
  /** Equal for all requests of one client, as far as its token and what it says about itself tell. */
  readonly client: string
  /** The id of the client's token. */
  readonly principal: string
  /** What the client says about itself: its name and version. */
  readonly clientInfo: unknown
  /** What the client can do for servers: sampling, elicitation, roots. */
  readonly capabilities: Json
  /** Aborted when the client cancels or goes away. */
  readonly signal: AbortSignal
  readonly wantsProgress: boolean
  /** The least severe log message the client wants; undefined if it wants no log messages. */
  readonly logLevel: string | undefined
  progress(note: ProgressNote): void
  log(params: Json): void
  /** Asks the client, and waits for the answer. `isEarly`: no server works on the request yet. Rejects with the client's own error. */
  ask(method: string, params: Json | undefined, signal: AbortSignal, isEarly?: boolean): Promise<Json>
  /** Resolves once all notifications are sent: nothing may arrive after the result. */
  flushed(): Promise<void>
}

/** What a client calls itself. */
export function clientName({ clientInfo }: Pick<ClientLine, 'clientInfo'>): string | undefined {
  if (!isJson(clientInfo) || typeof clientInfo.name !== 'string') return undefined
  return withoutHidden(clientInfo.name.slice(0, 200)).slice(0, 100)
}

/** The limits of a question to a client. */
export interface AskLimits {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Reaches a client while one of its requests is in flight, over the transport of that request. */
export interface RequestWire {
  /** Aborted when the client cancels the request. */
  readonly signal: AbortSignal
  /** The `_meta` of the request. */
  readonly meta: Json
  notify(method: string, params: Json): void
  /** Asks the client, and waits for its answer. Rejects with the client's own error, and when a limit is reached. */
  ask(method: string, params: Json | undefined, limits: AskLimits): Promise<Json>
  /** Resolves once every notification is sent. */
  flushed(): Promise<void>
}

/** Reaches a client between its requests. */
export interface StandingRequestWire extends RequestWire {
  /** Whether a message sent now would reach the client. */
  readonly isOpen: boolean
}

/** Whether a client with these capabilities can answer this question. */
export function canAnswer(capabilities: Json, method: string, params: Json = {}): boolean {
  const capability = capabilities[capabilityFor(method)]
  if (method !== 'elicitation/create' || capability === undefined) return capability !== undefined
  // A client that names no mode supports forms.
  const { form, url } = isJson(capability) ? capability : {}
  return params.mode === 'url' ? url !== undefined : form !== undefined || url === undefined
}

/** The error for a question that a client cannot answer. */
export function missingCapability(method: string, params: Json = {}): RpcError {
  const detail = method === 'elicitation/create' ? { [params.mode === 'url' ? 'url' : 'form']: {} } : {}
  return new RpcError(MISSING_CAPABILITY, 'the client lacks a capability that this request needs', {
    requiredCapabilities: { [capabilityFor(method)]: detail },
  })
}

/** What clients can be asked for, as names of capabilities. */
export const ASKABLE: readonly string[] = ['sampling', 'elicitation', 'roots']

/** Whether a client with these capabilities can answer any question. */
export function canBeAsked(capabilities: Json): boolean {
  return ASKABLE.some((capability) => capabilities[capability] !== undefined)
}

/** The capability that a client needs to answer this question. */
export function capabilityFor(method: string): string {
  return method.split('/')[0] ?? method
}
