import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { createGateway, GATEWAY_CAPABILITIES, type Gateway } from 'toolcrib/gateway'
import { SignIns } from 'toolcrib/inspector'
import { type FoundConfig, type OpenedRegistry, openFromConfig } from 'toolcrib/mcp'
import { version } from '../../../package.json'
import type { TokenFlags } from '../access-token.ts'
import type { ServerFlags } from '../flags.ts'
import { Interrupted, untilSignal } from '../interrupt.ts'
import { RunningGateway } from '../running-gateway.ts'
import { logPath } from '../runtime-folder.ts'
import type { Terminal } from '../terminal.ts'
import { findWithFlags, noteWarnings } from '../with-registry.ts'
import { FailureNotes } from './failure-notes.ts'
import { DRAIN_MS, GatewayAccess, LiveAccess } from './gateway-access.ts'
import { GatewayLines } from './gateway-lines.ts'
import { listen } from './http-listener.ts'
import { LiveConfig, type ReloadOutcome } from './live-config.ts'
import { LogBook } from './log-book.ts'
import { LogFile } from './log-file.ts'
import { openControl } from './open-control.ts'
import { openStores, type ServeStores } from './open-stores.ts'
import { pageUrl, servePage } from './serve-page.ts'
import { Linger, requireProfiles, shownOrigins } from './serve-settings.ts'
import { joinGateway, serveOverStdio } from './stdio-door.ts'

export interface ServeFlags extends ServerFlags, TokenFlags {
  readonly stdio?: boolean
  readonly port: number
  readonly mode?: 'full' | 'lazy' | 'auto'
  readonly names?: 'prefixed' | 'plain'
  readonly profile?: string
  readonly store?: string
  readonly linger?: number
  readonly locked?: boolean
  readonly open?: boolean
}

/** Serves the configured servers at one MCP endpoint until a signal, or `toolcrib stop`, ends it. */
export async function runServe(terminal: Terminal, flags: ServeFlags): Promise<number> {
  const found = await findWithFlags(terminal, flags)
  requireProfiles(flags.profile, found)
  noteWarnings(terminal, found)
  const running = await RunningGateway.find(found, terminal.env)
  if (flags.stdio && running && !hasOwnSettings(flags)) return joinGateway(terminal, running, flags.profile)
  const access = flags.stdio
    ? GatewayAccess.ofStdio(flags, found)
    : await GatewayAccess.choose(flags, found, terminal)
  try {
    return await untilSignal(
      terminal.signals,
      (signal) => serve(terminal, flags, { found, access, running, signal }),
      (_ms, exitCode) => exitProcess(exitCode, EXIT_MS + new Linger(flags, terminal).longestMs),
      (signal) => signal !== 'SIGHUP' || endsOnHangUp(terminal, flags),
    )
  } catch (error) {
    // A server that was stopped on request has not failed.
    if (error instanceof Interrupted) return 0
    throw error
  }
}

/** A gateway without a terminal, and without a client that started it, reads its config again instead. */
function endsOnHangUp({ isInteractive }: Terminal, { stdio }: ServeFlags): boolean {
  return stdio === true || isInteractive
}

/** Settings that differ from those of the running gateway need a separate gateway. */
function hasOwnSettings({ mode, names, store, lockfile, timeout }: ServeFlags): boolean {
  return [mode, names, store, lockfile, timeout].some((flag) => flag !== undefined)
}

interface Serving {
  readonly found: FoundConfig
  readonly access: GatewayAccess
  readonly running: RunningGateway | undefined
  readonly signal: AbortSignal
}

async function serve(terminal: Terminal, flags: ServeFlags, serving: Serving): Promise<number> {
  const stores = await openStores(flags.store, terminal)
  const path = flags.stdio ? undefined : logPath(serving.found.config.files, terminal.env)
  const file = path === undefined ? undefined : new LogFile(path)
  try {
    const logs = new LogBook(file)
    const exitCode = await serveWith(stores, terminal, flags, { ...serving, logs })
    logs.add({
      at: new Date().toISOString(),
      level: 'info',
      message: `stopped: ${whatStopped(serving.signal)}`,
    })
    return exitCode
  } finally {
    file?.close()
    await stores.close()
  }
}

function whatStopped({ reason }: AbortSignal): string {
  return reason instanceof Interrupted ? `by a signal (${reason.signal})` : 'by "toolcrib stop"'
}

async function serveWith(
  stores: ServeStores,
  terminal: Terminal,
  flags: ServeFlags,
  serving: Serving & { readonly logs: LogBook },
): Promise<number> {
  const { found, logs } = serving
  const fault = await stores.tried
  if (fault !== undefined) terminal.note(`${pc.red('✗')} ${fault}`)
  // Authorization servers accept this machine's own address without a certificate.
  const signIns = new SignIns({ origin: `http://127.0.0.1:${flags.port}`, store: stores.store })
  const opened = await openFromConfig({
    found,
    env: terminal.env,
    memory: true,
    connect: { client: { capabilities: GATEWAY_CAPABILITIES }, oauth: signIns.oauth },
    ...sharedBy(stores),
    ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
  })
  opened.registry.subscribe((event) => logs.note(event))
  const live = liveConfig(terminal, flags, { found, opened, logs })
  try {
    const gateway = createGateway({
      registry: opened.registry,
      servers: opened.servers,
      store: stores.store,
      announcements: stores.announcements,
      onReload: () => void live.reload(),
      ...serving.access.options(),
      mode: flags.mode,
      names: flags.names,
      logger: new GatewayLines(logs),
    })
    live.attach(new LiveAccess(serving.access, gateway, terminal))
    try {
      return flags.stdio
        ? await serveClient(terminal, flags, { ...serving, opened, gateway, live })
        : await serveOverHttp(terminal, flags, {
            ...serving,
            opened,
            gateway,
            live,
            signIns,
            stores,
          })
    } finally {
      await gateway.close()
    }
  } finally {
    await opened.close()
  }
}

/** Replicas share catalogues, vectors, memory and OAuth tokens; a single gateway uses the user's folders. */
function sharedBy({ store, announcements }: ServeStores) {
  return store && announcements ? { store } : {}
}

/** The time for draining, and for stopping servers that do not end by themselves. */
const EXIT_MS = DRAIN_MS + 6_000

function exitProcess(exitCode: number, afterMs: number): void {
  setTimeout(() => process.exit(exitCode), afterMs).unref()
}

interface GatewayServing extends Serving {
  readonly opened: OpenedRegistry
  readonly gateway: Gateway
  readonly logs: LogBook
  readonly live: LiveConfig
}

/** Serves the client that started this process. */
async function serveClient(
  terminal: Terminal,
  { profile }: ServeFlags,
  { found, signal, ...serving }: GatewayServing,
): Promise<number> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  // The client does not wait for the socket, and needs none.
  const opening = openControl(terminal, found, { ...serving, url: null, stop }).catch(() => undefined)
  try {
    return await serveOverStdio(terminal, serving.gateway, {
      profile,
      signal: AbortSignal.any([signal, stopping.signal]),
    })
  } finally {
    await (await opening)?.close()
  }
}

interface HttpServing extends GatewayServing {
  readonly signIns: SignIns
  readonly stores: ServeStores
}

async function serveOverHttp(
  terminal: Terminal,
  flags: ServeFlags,
  { found, access, running, signal, opened, gateway, logs, live, signIns, stores }: HttpServing,
): Promise<number> {
  const failures = new FailureNotes(terminal, () => live.found)
  failures.watch(opened)
  const inspector = servePage(terminal, flags, { opened, gateway, access, signIns, store: stores.store })
  const listener = await listen((request) => inspector.fetch(request), {
    ...flags,
    direct: (request, response) => gateway.handle(request, response),
  }).catch((error) => {
    throw running === undefined ? error : alreadyRunning(running, error)
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
  const url = `${here}${route}`
  const control = await openControl(terminal, found, { opened, gateway, live, logs, url, stop })
  if (running) noteRunning(terminal, running, control !== undefined)
  const stopWatching = live.watch(terminal, flags)
  const reload = () => void live.reload()
  if (!endsOnHangUp(terminal, flags)) terminal.signals.on('SIGHUP', reload)
  try {
    const page = pageUrl(here, access.pageToken)
    const isControlled = control !== undefined
    await announce(terminal, flags, { url: `${elsewhere}${route}`, page, access, found, isControlled })
    failures.show()
    if (flags.open) await showPage(terminal, page)
    await stopped
    if (!flags.json) terminal.note(pc.dim('stopping …'))
  } finally {
    terminal.signals.off('SIGHUP', reload)
    gateway.markStopping()
    // The socket first: nobody should join a gateway that is about to end. Clients that have joined it get their answers.
    control?.stopListening()
    await stopWatching()
    const hasReplicas = stores.announcements !== undefined
    const lingerMs = new Linger(flags, terminal).msFor(signal.reason, { hasReplicas })
    await listener.stopAccepting({ lingerMs })
    // Its event streams would keep connections open.
    await inspector.close()
    await Promise.all([gateway.close(), listener.close({ graceMs: DRAIN_MS })])
    await control?.close()
  }
  return 0
}

/** Where a gateway is, and what to say about it. */
interface Announced {
  readonly url: string
  readonly page: string
  readonly access: GatewayAccess
  readonly found: FoundConfig
  /** Whether commands reach it. */
  readonly isControlled: boolean
}

/** Prints where the gateway is: as JSON for programs, or with the next steps for people. */
async function announce(
  terminal: Terminal,
  { json }: ServeFlags,
  { url, page, ...shown }: Announced,
): Promise<void> {
  const announcement = { url, token: shown.access.token?.token ?? null, page, pid: process.pid, version }
  if (json) {
    terminal.print(JSON.stringify(announcement))
    return
  }
  const { showWelcome } = await import('./show-welcome.ts')
  await showWelcome(terminal, { ...announcement, ...shown })
}

async function showPage(terminal: Terminal, page: string): Promise<void> {
  const { openPage } = await import('./show-welcome.ts')
  if (!(await openPage(page, terminal.env))) terminal.note(`no browser could be opened; open ${page}`)
}

function liveConfig(
  terminal: Terminal,
  flags: ServeFlags,
  { found, opened, logs }: Pick<GatewayServing, 'found' | 'opened' | 'logs'>,
): LiveConfig {
  const find = async () => {
    const next = await findWithFlags(terminal, flags)
    requireProfiles(flags.profile, next)
    return next
  }
  return new LiveConfig(found, opened, find, (outcome) => noteReload(terminal, logs, outcome))
}

/** Logs the outcome of a reload, and prints what a person should act on. */
function noteReload(terminal: Terminal, logs: LogBook, outcome: ReloadOutcome): void {
  const at = new Date().toISOString()
  if ('problem' in outcome) {
    const message = outcome.isAccessApplied
      ? `tokens, profiles and limits were reloaded, but the servers were not: ${outcome.problem}; restart the gateway, or reload again`
      : `the config was not reloaded: ${outcome.problem}`
    logs.add({ at, level: 'error', message })
    terminal.note(`${pc.red('✗')} ${message}`)
    return
  }
  logs.add({ at, level: 'info', message: 'the config was reloaded' })
  if (outcome.unapplied.length === 0) return
  const tables = outcome.unapplied.map((name) => `[${name}]`).join(', ')
  const message = `${tables} changed; restart the gateway to apply this`
  logs.add({ at, level: 'warn', message })
  terminal.note(`${pc.yellow('note')} ${message}`)
}

/** Two gateways of one config are allowed, but few people want them. */
function noteRunning(terminal: Terminal, { report }: RunningGateway, isControlled: boolean): void {
  const step = isControlled
    ? '"toolcrib stop" stops every gateway of this config'
    : '"toolcrib stop" does not stop this one'
  const other = `${report.url} (pid ${report.pid})`
  terminal.note(`${pc.yellow('note')} a gateway of this config is already running at ${other}; ${step}`)
}

function alreadyRunning({ report }: RunningGateway, cause: unknown): ToolcribError {
  const step = 'use that one, stop it with "toolcrib stop", or choose another --port'
  return new ToolcribError(
    'source-unavailable',
    `a gateway of this config is running at ${report.url}; ${step}`,
    {
      cause,
    },
  )
}
