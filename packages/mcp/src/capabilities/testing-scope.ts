import type { CapabilityScope } from '@toolcrib/core'

/** A scope for tests: a tool called `probe`, in its own session. */
export function testScope(changes: Partial<CapabilityScope> = {}): CapabilityScope {
  return {
    tool: 'probe',
    sessionId: 'session-1',
    signal: new AbortController().signal,
    attachments: [],
    context: undefined,
    ...changes,
  }
}
