import { setTimeout } from 'node:timers/promises'
import { ToolcribError } from '@toolcrib/core'
import type { Gateway } from '@toolcrib/gateway'
import pc from 'picocolors'
import { version } from '../../package.json'
import { printPage, type RunningGateway } from '../gateway/running-gateway.ts'
import { socketPath } from '../gateway/runtime-folder.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { DRAIN_MS, type GatewayAccess } from './gateway-access.ts'
import { listen } from './http-listener.ts'
import { type Controlled, openControl } from './open-control.ts'
import type { ServeNotes } from './serve-notes.ts'
import { type PageParts, pageUrl, servePage } from './serve-page.ts'
import { endsOnHangUp, Linger, type ServeFlags, shownOrigins } from './serve-settings.ts'

export interface HttpServed extends Omit<Controlled, 'url' | 'page' | 'keep' | 'stop'>, PageParts {
  readonly access: GatewayAccess
  readonly notes: ServeNotes
  /** Another gateway of the same config. */
  readonly running: RunningGateway | undefined
  readonly hasReplicas: boolean
}

/** Serves a gateway and its page over HTTP until the signal is aborted, or `toolcrib stop` ends it. */
export async function serveHttp(
  terminal: Terminal,
  flags: ServeFlags,
  served: HttpServed,
  signal: AbortSignal,
): Promise<number> {
  const { gateway, live, access, notes, running, signIns } = served
  notes.watchFailures(() => live.found)
  const inspector = servePage(terminal, flags, served)
  const listenAt = (port: number) =>
    listen((request) => inspector.fetch(request), {
      host: flags.host,
      port,
      direct: (request, response) => gateway.handle(request, response),
    })
  const listener = await listenAt(flags.port).catch((error) => {
    if (running !== undefined) throw alreadyRunning(running, error)
    // Clients over stdio need no port, and another config may have this one.
    if (flags.idle !== undefined) return listenAt(0)
    throw error
  })
  signIns.origin = `http://127.0.0.1:${new URL(listener.origin).port}`
  const { elsewhere, here } = shownOrigins(listener.origin)
  const route = `/mcp${flags.profile === undefined ? '' : `/${flags.profile}`}`
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  signal.addEventListener('abort', stop, { once: true })
  // Commands run on this machine.
  const page = pageUrl(here, access.operator)
  let idleS = flags.idle
  const keep = () => {
    idleS = undefined
  }
  const control = await openControl(terminal, { ...served, url: `${here}${route}`, page, keep, stop })
  if (running) noteRunning(terminal, running, control !== undefined)
  const stopWatching = live.watch(terminal, flags)
  const reload = () => void live.reload()
  if (!endsOnHangUp(terminal, flags)) terminal.signals.on('SIGHUP', reload)
  try {
    if (flags.idle !== undefined && control?.path !== socketPath(live.found.config.files, terminal.env))
      throw new ToolcribError('source-unavailable', 'another gateway of this config was faster')
    const place = { url: `${elsewhere}${route}`, page, version }
    const token = access.token?.token ?? null
    if (flags.json) terminal.print(JSON.stringify({ url: place.url, token, page, pid: process.pid, version }))
    else if (flags.brief) {
      printPage(terminal, page)
      terminal.say(pc.dim('Ctrl-C stops it'))
    } else {
      const { showWelcome } = await import('./show-welcome.ts')
      await showWelcome(terminal, {
        ...place,
        access,
        found: live.found,
        isControlled: control !== undefined,
      })
    }
    notes.showFailures()
    if (flags.open) await showPage(terminal, page)
    await Promise.race([stopped, untilIdle(gateway, () => idleS)])
    if (!flags.json) terminal.note(pc.dim('stopping …'))
  } finally {
    terminal.signals.off('SIGHUP', reload)
    gateway.markStopping()
    // The socket first: nobody should join a gateway that is about to end. Clients that have joined it get their answers.
    control?.stopListening()
    await stopWatching()
    const lingerMs = new Linger(flags, terminal).msFor(signal.reason, served)
    await listener.stopAccepting({ lingerMs })
    // Its event streams would keep connections open.
    await inspector.close()
    await Promise.all([gateway.close(), listener.close({ graceMs: DRAIN_MS })])
    await control?.close()
  }
  return 0
}

/** Resolves once no client has been connected for so long; never without a limit, until it is closed. */
async function untilIdle(gateway: Gateway, idleS: () => number | undefined): Promise<void> {
  let usedAt = Date.now()
  while (
    gateway.status().state !== 'closed' &&
    Date.now() - usedAt < (idleS() ?? Number.POSITIVE_INFINITY) * 1_000
  ) {
    await setTimeout(IDLE_CHECK_MS, undefined, { ref: false })
    const isUsed = gateway.clients().some(({ isOpen }) => isOpen) || gateway.status().callsUnderWay > 0
    if (isUsed) usedAt = Date.now()
  }
}

const IDLE_CHECK_MS = 500

export async function showPage(terminal: Terminal, page: string): Promise<void> {
  const { openPage } = await import('./show-welcome.ts')
  if (!(await openPage(page, terminal.env))) terminal.note(`no browser could be opened; open ${page}`)
}

/** Two gateways of one config are allowed, but few people want them. */
function noteRunning(terminal: Terminal, { report }: RunningGateway, isControlled: boolean): void {
  const step = isControlled
    ? '"toolcrib stop" stops every gateway of this config'
    : '"toolcrib stop" does not stop this one'
  const other = `${report.url} (pid ${report.pid})`
  terminal.warn(`a gateway of this config is already running at ${other}; ${step}`)
}

function alreadyRunning({ report }: RunningGateway, cause: unknown): ToolcribError {
  const step =
    'open its page with "toolcrib serve --open", stop it with "toolcrib stop", or choose another --port'
  const message = `a gateway of this config is running at ${report.url}; ${step}`
  return new ToolcribError('source-unavailable', message, { cause })
}
