import type { McpEvent, Schedule } from '@toolcrib/mcp'

/** How long to wait for servers that are still connecting when the command can do without them. */
const LINGER_MS = 5_000

/** Ends the wait for servers that may never connect. */
export interface EnoughServers {
  /** Records that a server connected or failed. */
  note(event: McpEvent): void
  /** Starts the wait when the command can do without the servers that are still connecting. */
  check(): void
  /** Resolves when enough tools are available, and no server has connected or failed for a while. */
  readonly reached: Promise<void>
  stop(): void
}

/** Decides when missing servers are not worth a longer wait. */
export function enoughServers(
  isEnough: () => boolean,
  schedule: Schedule,
  lingerMs: number = LINGER_MS,
): EnoughServers {
  const { promise: reached, resolve } = withResolve()
  const settled = new Set<string>()
  let stop = () => {}
  const check = () => {
    stop()
    if (isEnough())
      stop = schedule(lingerMs, () => {
        // Meanwhile, the command may need a server after all.
        if (isEnough()) resolve()
      })
  }
  return {
    note: (event) => {
      // A server that fails repeatedly counts once.
      if (event.type !== 'server-state' || event.state === 'connecting' || settled.has(event.server)) return
      settled.add(event.server)
      check()
    },
    check,
    reached,
    stop: () => stop(),
  }
}

function withResolve(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((fulfil) => {
    resolve = fulfil
  })
  return { promise, resolve }
}
