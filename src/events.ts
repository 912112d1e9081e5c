import type { ToolSource } from './tool.ts'

/**
 * What happened, typed. Traces, metrics and the inspector read these; nothing in the flow of a turn does.
 * Token figures in events are estimates, good to about one percent.
 */
export type ToolcribEvent = { readonly at: number; readonly sessionId?: string } & (
  | { readonly type: 'tool-registered'; readonly name: string; readonly source: ToolSource }
  | { readonly type: 'tool-unregistered'; readonly name: string; readonly source: ToolSource }
  | ({ readonly type: 'server-synced'; readonly server: string } & SyncReport)
  | { readonly type: 'tool-skipped'; readonly name: string; readonly server: string; readonly reason: string }
  | { readonly type: 'tool-quarantined'; readonly name: string; readonly reason: string }
  | { readonly type: 'tool-released'; readonly name: string }
  /** `isAvailable()` threw, so the tool is hidden. */
  | { readonly type: 'tool-hidden'; readonly name: string; readonly error: string }
  /** Auto mode made up its mind anew. */
  | { readonly type: 'mode-changed'; readonly mode: 'full' | 'lazy'; readonly reason: string }
  | { readonly type: 'session-opened'; readonly parentId?: string; readonly restored: number }
  /** A saved activation whose tool has another definition now. */
  | { readonly type: 'definition-changed'; readonly name: string }
  /** The store did not take the session's state after a call; the next change saves it again. */
  | { readonly type: 'save-failed'; readonly error: string }
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
  /** A search that found nothing, or a name that is not there. */
  | { readonly type: 'missed'; readonly what: 'search' | 'name'; readonly text: string }
  | { readonly type: 'activated'; readonly names: readonly string[]; readonly tokens: number }
  /** Called without having been shown: checked out on the way. */
  | { readonly type: 'auto-activated'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'evicted'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'deactivated'; readonly names: readonly string[]; readonly tokens: number }
  | { readonly type: 'call-started'; readonly toolCallId: string; readonly name: string }
  | {
      readonly type: 'call-finished'
      readonly toolCallId: string
      readonly name: string
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
)

/** What a sync of one server changed. */
export interface SyncReport {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

/** An event before it is stamped with its time. */
export type EventBody = DistributiveOmit<ToolcribEvent, 'at'>

/** Raises an event. Never throws: a listener that fails is no reason for a call to. */
export type Emit = (event: EventBody) => void
