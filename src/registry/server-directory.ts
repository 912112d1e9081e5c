/** How one MCP server is doing. */
export type ServerStatus =
  | { readonly server: string; readonly state: 'cold' | 'connecting' | 'ready' }
  | { readonly server: string; readonly state: 'failed'; readonly reason: string }

/** What the registry knows of connected servers. Implemented by whoever connects them. */
export interface ServerDirectory {
  statuses(): readonly ServerStatus[]
  /** Resolves once none of the servers (all, when absent) is connecting, or the time is up; never rejects. */
  settled(options: { readonly servers?: readonly string[]; readonly timeoutMs: number }): Promise<void>
}
