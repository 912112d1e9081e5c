import type { ProgressNote } from 'toolcrib'
import type { Json } from './json-rpc.ts'
import type { Era } from './protocol.ts'

/**
 * Reaches the client of one request while that request is in flight. Progress, log messages and questions of the server
 * go through it.
 */
export interface ClientLine {
  readonly era: Era
  /** Requests with the same owner certainly come from the same client. */
  readonly owner: string
  /** The id of the client's token. */
  readonly principal: string
  /** What the client can do for servers: sampling, elicitation, roots. */
  readonly capabilities: Json
  /** Aborted when the client cancels or goes away. */
  readonly signal: AbortSignal
  readonly wantsProgress: boolean
  /** The least severe log message the client wants; undefined if it wants no log messages. */
  readonly logLevel: string | undefined
  progress(note: ProgressNote): void
  log(params: Json): void
  /** Asks the client, and waits for the answer. Rejects with the client's own error. */
  ask(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json>
  /** Resolves once all notifications are sent: nothing may arrive after the result. */
  flushed(): Promise<void>
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
export function canAnswer(capabilities: Json, method: string): boolean {
  return Object.hasOwn(capabilities, capabilityFor(method))
}

/** Whether a client with these capabilities can answer any question. */
export function canBeAsked(capabilities: Json): boolean {
  return ['sampling', 'elicitation', 'roots'].some((capability) => capabilities[capability] !== undefined)
}

/** The capability that a client needs to answer this question. */
export function capabilityFor(method: string): string {
  return method.split('/')[0] ?? method
}
