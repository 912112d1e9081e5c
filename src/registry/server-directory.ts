import type { ServerNeed } from '../events.ts'

/** The state of one MCP server. */
export type ServerStatus =
  | { readonly server: string; readonly state: 'cold' | 'connecting' | 'ready' }
  | {
      readonly server: string
      readonly state: 'failed'
      readonly reason: string
      /** What it waits for; absent when it could not be started or reached, or its connection ended. */
      readonly needs?: ServerNeed
    }

/** The connected servers, as the registry sees them. Implemented by `ServerHub`. */
export interface ServerDirectory {
  statuses(): readonly ServerStatus[]
  /** Resolves once none of the servers (all, when absent) is connecting, or the time is up; never rejects. */
  settled(options: { readonly servers?: readonly string[]; readonly timeoutMs: number }): Promise<void>
}
