import { ToolcribError } from './errors.ts'
import type { Finding } from './finding.ts'
import type { Reply } from './reply.ts'
import type { ScriptEvent } from './script-events.ts'
import type { CallResult, ToolCall, ToolSource } from './tool.ts'
import type { LedgerTotals, SpendLimit } from './usage.ts'

/**
 * Every event of the registry, its sessions, calls, servers and agents, as one typed stream. Traces, metrics and the
 * inspector read it; no part of a turn depends on it. Token counts in events are estimates, accurate to about one
 * percent.
 */
export type ToolcribEvent = { readonly at: number; readonly sessionId?: string } & (
  | CoreEventBody
  | ServerEventBody
  /** A step of an agent's run, in the agent's session. */
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
  /** A session was opened with a list in which this name or glob matches no registered tool. */
  | ({ readonly type: 'pattern-unmatched' } & UnmatchedPattern)
  /** Auto mode switched. */
  | { readonly type: 'mode-changed'; readonly mode: 'full' | 'lazy'; readonly reason: string }
  | { readonly type: 'session-opened'; readonly parentId?: string; readonly restored: number }
  /** A restored activation whose tool's definition has changed. */
  | { readonly type: 'definition-changed'; readonly name: string }
  /** The store failed or timed out; the state stays in memory and is written with the next change. */
  | { readonly type: 'save-failed'; readonly error: string }
  /**
   * The store failed or timed out, or a value is damaged: the session starts without it, or vectors are computed again.
   */
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
  /** The searcher's embedder failed, so it ranked by words alone. */
  | { readonly type: 'search-degraded'; readonly searcher: string; readonly error: string }
  /** A search without matches, or an unknown name. */
  | { readonly type: 'missed'; readonly what: 'search' | 'name'; readonly text: string }
  | { readonly type: 'activated'; readonly names: readonly string[]; readonly tokens: number }
  /** A tool was called without having been shown, and activated for the call. */
  | { readonly type: 'auto-activated'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'evicted'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'deactivated'; readonly names: readonly string[]; readonly tokens: number }
  /** `name` is the tool that runs, even if called through `call_tool`; `calledAs` is then the name the model wrote. */
  | {
      readonly type: 'call-started'
      readonly toolCallId: string
      readonly name: string
      readonly calledAs?: string
    }
  | ScriptEvent
  /** A person is asked about a call before it runs. */
  | { readonly type: 'call-asked'; readonly toolCallId: string; readonly name: string }
  /** The person's answer; `deny` also if there was none. */
  | {
      readonly type: 'call-decided'
      readonly toolCallId: string
      readonly name: string
      readonly answer: 'once' | 'session' | 'always' | 'deny'
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
  /** One of the host's hooks, reducers or schemas failed; the call continued as documented. */
  | {
      readonly type: 'call-part-failed'
      readonly toolCallId: string
      readonly name: string
      readonly part: 'hook' | 'reducer' | 'schema' | 'spill' | 'cache'
      readonly error: string
    }

/**
 * What a server waits for before it can run: a valid config, an approval in the lockfile, or a person who signs in to it.
 */
export type ServerNeed = 'config' | 'approval' | 'sign-in'

/** Events about a server. Their texts come from the server and are untrusted. */
export type ServerEventBody = { readonly server: string } & (
  | {
      readonly type: 'server-state'
      readonly state: 'cold' | 'connecting' | 'ready' | 'failed'
      readonly reason?: string
      /** Why connecting takes long, as in its status; the event is then repeated now and then. */
      readonly detail?: string
      /** What a failed server waits for, as in its status. */
      readonly needs?: ServerNeed
    }
  /** A recoverable protocol violation: junk on stdout, an unexpected response, a list that failed. */
  | { readonly type: 'server-warning'; readonly warning: string }
  /** A line that the server wrote to stderr, with secrets masked. Long lines are cut, and floods are counted. */
  | { readonly type: 'server-output'; readonly line: string }
  /**
   * A listed tool is unusable: its definition or name is invalid, or the name is taken. Other tools are not affected.
   */
  | { readonly type: 'tool-invalid'; readonly tool: string; readonly reason: string }
  /** A person should review this tool's definition; the tool is used nevertheless. */
  | { readonly type: 'tool-suspicious'; readonly finding: Finding }
  | {
      readonly type: 'call-progress'
      readonly toolCallId: string
      readonly tool: string
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }
  /** Structured content is missing, or does not match the server's output schema. */
  | {
      readonly type: 'output-mismatch'
      readonly toolCallId: string
      readonly tool: string
      readonly faults: string
    }
  /** Structured content was passed on unchecked, because checking it would take too long. */
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
  /** A piece of the answer. After `retrying`, the answer starts over. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'retrying'; readonly reason: string; readonly delayMs: number; readonly attempt: number }
  | { readonly type: 'replied'; readonly reply: Reply }
  | { readonly type: 'calling'; readonly calls: readonly ToolCall[] }
  /** Every call of the turn has a result, including calls that could not run. */
  | { readonly type: 'called'; readonly results: readonly CallResult[] }
  /** The model repeats itself: it gets a hint, or no tools for one turn. */
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
 * provider's token limit; limit: the run reached one of its own limits; cancelled: the signal fired; failed: the
 * provider request failed.
 */
export type AgentStop = 'done' | 'refused' | 'length' | 'limit' | 'cancelled' | 'failed' | 'approval'

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

interface Subscriber {
  readonly listener: Listener
  readonly sessionId: string | undefined
}

/** The event stream of one registry. */
export class EventStream {
  readonly #options: EventStreamOptions
  /** Replaced with each change: an event reaches those who listened when it was emitted. */
  #subscribers: readonly Subscriber[] = []

  constructor(options: EventStreamOptions) {
    this.#options = options
  }

  /**
   * Calls the listener for every event from now on, or only for one session's events. Returns a function that
   * unsubscribes. Throws `config-invalid` for anything but a function.
   */
  subscribe(listener: Listener, { sessionId }: { readonly sessionId?: string | undefined } = {}): () => void {
    if (typeof listener !== 'function')
      throw new ToolcribError('config-invalid', 'subscribe() takes a function that is called with each event')
    const subscriber = { listener, sessionId }
    this.#subscribers = [...this.#subscribers, subscriber]
    return () => {
      this.#subscribers = this.#subscribers.filter((other) => other !== subscriber)
    }
  }

  /** True if anybody listens; otherwise costly events need not be built. */
  get hasListeners(): boolean {
    return this.#subscribers.length > 0
  }

  readonly emit: Emit = (event) => {
    if (this.#subscribers.length === 0) return
    const stamped = this.#stamp(event)
    if (stamped === undefined) return
    for (const { listener, sessionId } of this.#subscribers) {
      if (sessionId !== undefined && sessionId !== stamped.sessionId) continue
      try {
        const returned: unknown = listener(stamped)
        if (returned instanceof Promise) returned.catch(() => {})
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

/** A name or glob of a list that matches no tool: probably a slip. */
export interface UnmatchedPattern {
  readonly list: 'allow' | 'deny' | 'ask' | 'pinned' | 'allowedMcpTools' | 'excludeTools' | 'reducers'
  readonly pattern: string
  /** A registered name that may be meant. */
  readonly nearest?: string
}
