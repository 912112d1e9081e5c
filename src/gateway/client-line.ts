import type { ProgressNote } from 'toolcrib'
import type { Json } from './json-rpc.ts'
import type { Era } from './protocol.ts'

/**
 * The way back to the client of one request, for as long as the request is under way. What a server reports, logs and
 * asks while it works on that request goes here.
 */
export interface ClientLine {
  readonly era: Era
  /** Whose request it is: requests with the same owner are of the same client for certain. */
  readonly owner: string
  /** The token it came with. */
  readonly principal: string
  /** What the client can do for servers: sampling, elicitation, roots. */
  readonly capabilities: Json
  /** Aborted when the client cancels or goes away. */
  readonly signal: AbortSignal
  readonly wantsProgress: boolean
  /** The least severe log message the client wants; undefined when it asked for none. */
  readonly logLevel: string | undefined
  progress(note: ProgressNote): void
  log(params: Json): void
  /** Asks the client for something, and waits for the answer. Rejects with the client's own error. */
  ask(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json>
  /** Resolves once all that was reported is on its way: nothing may arrive after the result. */
  flushed(): Promise<void>
}

/** The limits of a question to a client. */
export interface AskLimits {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** How a client is reached while one of its requests is under way, over the transport that the request came with. */
export interface RequestWire {
  /** Aborted when the client cancels the request. */
  readonly signal: AbortSignal
  /** The `_meta` of the request. */
  readonly meta: Json
  notify(method: string, params: Json): void
  /** Asks the client, and waits for its answer. Rejects with the client's own error, and when the limits are reached. */
  ask(method: string, params: Json | undefined, limits: AskLimits): Promise<Json>
  /** Resolves once every notification is on its way. */
  flushed(): Promise<void>
}

/** The wire to a client between its requests. */
export interface StandingRequestWire extends RequestWire {
  /** Whether anything sent now would reach the client. */
  readonly isOpen: boolean
}

/** Whether a client with these capabilities can be asked this. */
export function canAnswer(capabilities: Json, method: string): boolean {
  return Object.hasOwn(capabilities, capabilityFor(method))
}

/** Whether a client with these capabilities can be asked anything at all. */
export function canBeAsked(capabilities: Json): boolean {
  return ['sampling', 'elicitation', 'roots'].some((capability) => capabilities[capability] !== undefined)
}

/** The capability that a client needs to be asked this. */
export function capabilityFor(method: string): string {
  return method.split('/')[0] ?? method
}
