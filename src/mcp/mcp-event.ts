import type { ServerStatus } from '../registry/server-directory.ts'
import type { Finding } from './scan/finding.ts'

/** What happened to a server or on its behalf. Texts and data in it come from the server and are not to be trusted. */
export type McpEvent = { readonly at: number; readonly server: string } & (
  | { readonly type: 'server-state'; readonly state: ServerStatus['state']; readonly reason?: string }
  /** Something the server did wrong that was got over: junk on its stdout, a stray answer, a list that failed. */
  | { readonly type: 'server-warning'; readonly warning: string }
  /** A tool of its list that cannot be used, or bears a name that is taken or makes no sense; the rest of the list is used. */
  | { readonly type: 'tool-invalid'; readonly tool: string; readonly reason: string }
  /** Something in a tool's definition that a person should look at; the tool is used all the same. */
  | { readonly type: 'tool-suspicious'; readonly finding: Finding }
  /** How far a call has come. */
  | {
      readonly type: 'call-progress'
      readonly toolCallId: string
      readonly tool: string
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }
  /** Structured content that does not match the output schema the server itself gave, or is missing though it gave one. */
  | {
      readonly type: 'output-mismatch'
      readonly toolCallId: string
      readonly tool: string
      readonly faults: string
    }
  /** What the server said beside a result. */
  | {
      readonly type: 'result-meta'
      readonly toolCallId: string
      readonly tool: string
      readonly meta: Readonly<Record<string, unknown>>
      readonly isTrusted: boolean
    }
)

type WithoutPlace<Event> = Event extends unknown ? Omit<Event, 'at' | 'server'> : never

/** An event of one server, before it is stamped with time and name. Never throws. */
export type EmitMcp = (event: WithoutPlace<McpEvent>) => void
