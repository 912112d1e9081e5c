import type { McpEvent } from 'toolcrib/mcp'

/** How long servers that are still connecting are waited for once there is enough without them. */
const LINGER_MS = 5_000

/** The end of waiting for servers that may never come. */
export interface EnoughServers {
  /** Hears what happens to servers. */
  note(event: McpEvent): void
  /** Resolves when enough is there, and for a while no server has come up or failed. */
  readonly reached: Promise<void>
  stop(): void
}

/** Watches for the moment when waiting on costs more than the servers that are missing are likely to bring. */
export function enoughServers(
  isEnough: () => boolean,
  schedule: (ms: number, fire: () => void) => () => void = scheduleWithTimers,
): EnoughServers {
  const { promise: reached, resolve } = withResolve()
  const settled = new Set<string>()
  let stop = () => {}
  return {
    note: (event) => {
      // One that fails again and again settles once.
      if (event.type !== 'server-state' || event.state === 'connecting' || settled.has(event.server)) return
      settled.add(event.server)
      stop()
      if (isEnough()) stop = schedule(LINGER_MS, resolve)
    },
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
