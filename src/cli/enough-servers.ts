import type { McpEvent } from 'toolcrib/mcp'

/** How long servers that are still connecting are waited for once the command could do without them. */
const LINGER_MS = 5_000

/** Ends the wait for servers that may never connect. */
export interface EnoughServers {
  /** Takes note of a server that came up or failed. */
  note(event: McpEvent): void
  /** Starts the wait when the command could do without the servers that are still connecting. */
  check(): void
  /** Resolves when enough is there, and no server has come up or failed for a while. */
  readonly reached: Promise<void>
  stop(): void
}

/** Watches for the moment when the missing servers are not worth a longer wait. */
export function enoughServers(
  isEnough: () => boolean,
  schedule: (ms: number, fire: () => void) => () => void = scheduleWithTimers,
): EnoughServers {
  const { promise: reached, resolve } = withResolve()
  const settled = new Set<string>()
  let stop = () => {}
  const check = () => {
    stop()
    if (isEnough()) stop = schedule(LINGER_MS, resolve)
  }
  return {
    note: (event) => {
      // A server that fails again and again counts once.
      if (event.type !== 'server-state' || event.state === 'connecting' || settled.has(event.server)) return
      settled.add(event.server)
      check()
    },
    check,
    reached,
    stop: () => stop(),
  }
}

function scheduleWithTimers(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms)
  return () => clearTimeout(timer)
}

function withResolve(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((fulfil) => {
    resolve = fulfil
  })
  return { promise, resolve }
}
