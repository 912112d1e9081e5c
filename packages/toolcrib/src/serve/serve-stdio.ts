import { once } from 'node:events'
import type { RunningGateway } from '../gateway/running-gateway.ts'
import { untilSignal } from '../terminal/interrupt.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type Controlled, openControl } from './open-control.ts'

/** Connects stdin and stdout to a running gateway, until either side ends. */
export async function joinGateway(
  terminal: Terminal,
  running: RunningGateway,
  profile: string | undefined,
): Promise<number> {
  return untilSignal(terminal.signals, async (signal) => {
    const stream = await running.openStream(profile)
    const closed = once(stream, 'close')
    signal.addEventListener('abort', () => stream.destroy(), { once: true })
    stream.on('error', () => stream.destroy())
    // When stdin ends the client is gone, and nobody would read the rest.
    terminal.input.once('end', () => stream.end())
    terminal.input.pipe(stream, { end: false })
    stream.pipe(terminal.output, { end: false })
    await closed
    terminal.input.unpipe(stream)
    terminal.input.destroy()
    return 0
  })
}

/**
 * Serves the client that started this process until it closes stdin, which ends its calls, or the gateway is stopped,
 * which lets calls in flight finish.
 */
export async function serveStdio(
  terminal: Terminal,
  served: Omit<Controlled, 'url' | 'page' | 'keep' | 'stop'>,
  { profile, signal }: { readonly profile: string | undefined; readonly signal: AbortSignal },
): Promise<number> {
  const { input, output } = terminal
  const { gateway } = served
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  // The client does not wait for the socket, and needs none.
  const opening = openControl(terminal, { ...served, url: null, keep: () => {}, stop }).catch(() => undefined)
  try {
    const drained = once(AbortSignal.any([signal, stopping.signal]), 'abort').then(() => gateway.close())
    const client = gateway.serveStdio({ input, output, profile })
    await Promise.race([client.closed, drained])
    await client.close()
    // An open stdin would keep the process alive.
    input.destroy()
    return 0
  } finally {
    await (await opening)?.close()
  }
}
