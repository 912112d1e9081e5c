import { once } from 'node:events'
import type { Gateway } from 'toolcrib/gateway'
import { untilSignal } from '../interrupt.ts'
import type { RunningGateway } from '../running-gateway.ts'
import type { Terminal } from '../terminal.ts'

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
 * Serves the client at stdin and stdout until it closes stdin, which ends its calls, or the signal is aborted, which lets
 * calls in flight finish.
 */
export async function serveOverStdio(
  { input, output }: Terminal,
  gateway: Gateway,
  { profile, signal }: { readonly profile: string | undefined; readonly signal: AbortSignal },
): Promise<number> {
  const drained = once(signal, 'abort').then(() => gateway.close())
  const door = gateway.serveStdio({ input, output, profile })
  await Promise.race([door.closed, drained])
  await door.close()
  // An open stdin would keep the process alive.
  input.destroy()
  return 0
}
