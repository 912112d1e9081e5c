import type { Finding } from './finding.ts'
import type { Reply } from './reply.ts'
import type { CallResult, ToolCall, ToolSource } from './tool.ts'
import type { LedgerTotals, SpendLimit } from './usage.ts'

/**
 * Everything that happens, as one typed stream for the registry, its sessions, calls, servers and agents. Traces,
 * metrics and the inspector read it; no part of a turn depends on it. Token counts in events are estimates, accurate
 * to about one percent.
 */
export type ToolcribEvent = { readonly at: number; readonly sessionId?: string } & (
  | CoreEventBody
  | ServerEventBody
  /** A step of an agent's run, in the session it runs in. */
  | { readonly type: 'agent'; readonly iteration: number; readonly event: AgentEventBody }
)

type CoreEventBody =
  | { readonly type: 'tool-registered'; readonly name: string; readonly source: ToolSource }
  | { readonly type: 'tool-unregistered'; readonly name: string; readonly source: ToolSource }
  | ({ readonly type: 'server-synced'; readonly server: string } & SyncReport)
  | { readonly type: 'tool-skipped'; readonly name: string; readonly server: string; readonly reason: string }
  | { readonly type: 'tool-quarantined'; readonly name: string; readonly reason: string }
  | { readonly type: 'tool-released'; readonly name: string }
  /** `isAvailable()` threw, so the tool is hidden. */
  | { readonly type: 'tool-hidden'; readonly name: string; readonly error: string }
  /** Auto mode switched. */
  | { readonly type: 'mode-changed'; readonly mode: 'full' | 'lazy'; readonly reason: string }
  | { readonly type: 'session-opened'; readonly parentId?: string; readonly restored: number }
  /** A saved activation whose tool has another definition now. */
  | { readonly type: 'definition-changed'; readonly name: string }
  /** The store failed or did not answer; the state stays here and is written with the next change. */
  | { readonly type: 'save-failed'; readonly error: string }
  /** The store failed or did not answer; the session opened as a new one, or vectors are computed again. */
  | { readonly type: 'load-failed'; readonly error: string }
  | {
      readonly type: 'surfaced'
      readonly tools: number
      readonly tokens: number
      readonly deferredCount: number
      readonly fingerprint: string
    }
  | {
      readonly type: 'searched'
      readonly query: string
      readonly searcher: string
      readonly total: number
      readonly names: readonly string[]
    }
  /** The searcher could not do all of its work: its embedder failed, so it ranked by words alone. */
  | { readonly type: 'search-degraded'; readonly searcher: string; readonly error: string }
  /** A search that found nothing, or a name that is not there. */
  | { readonly type: 'missed'; readonly what: 'search' | 'name'; readonly text: string }
  | { readonly type: 'activated'; readonly names: readonly string[]; readonly tokens: number }
  /** Called without having been shown: checked out on the way. */
  | { readonly type: 'auto-activated'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'evicted'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'deactivated'; readonly names: readonly string[]; readonly tokens: number }
  /** `name` is the tool that runs, also when it was called through `call_tool`; `calledAs` is then what the model wrote. */
  | {
      readonly type: 'call-started'
      readonly toolCallId: string
      readonly name: string
      readonly calledAs?: string
    }
  | {
      readonly type: 'call-finished'
      readonly toolCallId: string
      readonly name: string
      readonly calledAs?: string
      readonly ok: boolean
      readonly code?: string
      readonly durationMs: number
      readonly chars: number
      readonly isCached?: boolean
    }
  | {
      readonly type: 'result-trimmed'
      readonly toolCallId: string
      readonly name: string
      readonly totalChars: number
      readonly keptChars: number
      readonly handle?: string
    }
  /** A hook, reducer or schema of the host's that failed; the call went on as documented. */
  | {
      readonly type: 'call-part-failed'
      readonly toolCallId: string
      readonly name: string
      readonly part: 'hook' | 'reducer' | 'schema' | 'spill' | 'cache'
      readonly error: string
    }

/** Events about a server. Their texts come from the server and are untrusted. */
export type ServerEventBody = { readonly server: string } & (
  | {
      readonly type: 'server-state'
      readonly state: 'cold' | 'connecting' | 'ready' | 'failed'
      readonly reason?: string
    }
  /** A protocol violation the connection recovered from: junk on stdout, a stray answer, a list that failed. */
  | { readonly type: 'server-warning'; readonly warning: string }
  /** A listed tool that cannot be used: an invalid definition, or an invalid or taken name. The others are used. */
  | { readonly type: 'tool-invalid'; readonly tool: string; readonly reason: string }
  /** Something in a tool's definition that a person should look at; the tool is used all the same. */
  | { readonly type: 'tool-suspicious'; readonly finding: Finding }
  | {
      readonly type: 'call-progress'
      readonly toolCallId: string
      readonly tool: string
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }
  /** Structured content that is missing, or does not match the output schema the server declared. */
  | {
      readonly type: 'output-mismatch'
      readonly toolCallId: string
      readonly tool: string
      readonly faults: string
    }
  /** Structured content that was passed on unchecked, because checking it would take too long. */
  | {
      readonly type: 'output-unchecked'
      readonly toolCallId: string
      readonly tool: string
      readonly reason: string
    }
  /** The `_meta` of a result. */
  | {
      readonly type: 'result-meta'
      readonly toolCallId: string
      readonly tool: string
      readonly meta: Readonly<Record<string, unknown>>
      readonly isTrusted: boolean
    }
)

/** A step of an agent's run. */
export type AgentEventBody =
  /** A request is sent, with this many tools. */
  | {
      readonly type: 'asking'
      readonly tools: number
      readonly deferredCount: number
      readonly mayCall: boolean
    }
  /** A piece of the answer. After `retrying` the answer starts anew. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'retrying'; readonly reason: string; readonly delayMs: number; readonly attempt: number }
  | { readonly type: 'replied'; readonly reply: Reply }
  | { readonly type: 'calling'; readonly calls: readonly ToolCall[] }
  /** All calls of the turn are answered, those that could not be run included. */
  | { readonly type: 'called'; readonly results: readonly CallResult[] }
  /** The model goes round in circles: it is told, or has no tools for a turn. */
  | {
      readonly type: 'looping'
      readonly answer: 'nudge' | 'withhold'
      readonly name: string
      readonly times: number
    }
  | { readonly type: 'compacted'; readonly before: number; readonly after: number }
  | {
      readonly type: 'stopped'
      readonly stop: AgentStop
      /** Which limit, when `stop` is `limit`. */
      readonly limit?: AgentLimit
      readonly ledger: LedgerTotals
    }

/**
 * Why a run ended. done: the model gave its answer; refused: the model declined; length: the answer reached the
 * provider's token limit; limit: the run reached a limit of its own; cancelled: the signal fired; failed: the provider
 * request failed.
 */
export type AgentStop = 'done' | 'refused' | 'length' | 'limit' | 'cancelled' | 'failed'

/** The limit that ended a run, by the name of its option. */
export type AgentLimit = 'maxIterations' | SpendLimit

/** Changes made by one server's sync. */
export interface SyncReport {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

/** An event without its timestamp. */
export type EventBody = DistributiveOmit<ToolcribEvent, 'at'>

/** Emits an event. Never throws: a failing listener must not fail a call. */
export type Emit = (event: EventBody) => void

/** Receives events. Exceptions it throws are ignored. */
export type Listener = (event: ToolcribEvent) => void

export interface EventStreamOptions {
  readonly now: () => number
  /** Transforms each event before listeners see it; the registry masks secrets here. */
  readonly mask?: ((event: EventBody) => EventBody) | undefined
}

/** The event stream of one registry. */
export class EventStream {
  readonly #options: EventStreamOptions
  readonly #subscribers = new Set<{ readonly listener: Listener; readonly sessionId: string | undefined }>()

  constructor(options: EventStreamOptions) {
    this.#options = options
  }

  /**
   * Calls the listener for every event from now on, or only for one session's events. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: Listener, { sessionId }: { readonly sessionId?: string | undefined } = {}): () => void {
    const subscriber = { listener, sessionId }
    this.#subscribers.add(subscriber)
    return () => void this.#subscribers.delete(subscriber)
  }

  /** True when anything listens; skip building costly events otherwise. */
  get isHeard(): boolean {
    return this.#subscribers.size > 0
  }

  readonly emit: Emit = (event) => {
    if (this.#subscribers.size === 0) return
    const stamped = this.#stamp(event)
    if (stamped === undefined) return
    for (const { listener, sessionId } of [...this.#subscribers]) {
      if (sessionId !== undefined && sessionId !== stamped.sessionId) continue
      try {
        listener(stamped)
      } catch {
        // A failing listener must not affect a call, a server or another listener.
      }
    }
  }

  // An event that cannot be masked is dropped.
  #stamp(event: EventBody): ToolcribEvent | undefined {
    try {
      const { mask, now } = this.#options
      return { ...(mask ? mask(event) : event), at: now() }
    } catch {
      return undefined
    }
  }
}
