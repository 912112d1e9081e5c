/** The state of one MCP server. */
export type ServerStatus =
  | { readonly server: string; readonly state: 'cold' | 'connecting' | 'ready' }
  | { readonly server: string; readonly state: 'failed'; readonly reason: string }

/** The connected servers, as the registry sees them. Implemented by `ServerHub`. */
export interface ServerDirectory {
  statuses(): readonly ServerStatus[]
  /** Resolves once none of the servers (all, when absent) is connecting, or the time is up; never rejects. */
  settled(options: { readonly servers?: readonly string[]; readonly timeoutMs: number }): Promise<void>
}
