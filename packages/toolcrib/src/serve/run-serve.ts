import { ToolcribError } from '@toolcrib/core'
import { type AuditOptions, createGateway, GATEWAY_CAPABILITIES } from '@toolcrib/gateway'
import { SignIns } from '@toolcrib/gateway/inspector'
import { type FoundConfig, openFromConfig } from '@toolcrib/mcp'
import pc from 'picocolors'
import { ConfiguredTools } from '../config/allowed-tools.ts'
import { openScripts } from '../config/open-scripts.ts'
import { SavedScripts } from '../config/saved-scripts.ts'
import { RunningGateway } from '../gateway/running-gateway.ts'
import { auditFolder, logPath } from '../gateway/runtime-folder.ts'
import { findWithFlags, noteApis, noteSkills, noteWarnings } from '../servers/with-registry.ts'
import { Interrupted, untilSignal } from '../terminal/interrupt.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { DRAIN_MS, GatewayAccess } from './gateway-access.ts'
import { GatewayLines } from './gateway-lines.ts'
import { LiveConfig } from './live-config.ts'
import { LogBook } from './log-book.ts'
import { LogFile } from './log-file.ts'
import { notifier } from './notify-pending.ts'
import { openStores, type ServeStores } from './open-stores.ts'
import { serveHttp, showPage } from './serve-http.ts'
import { ServeNotes } from './serve-notes.ts'
import { endsOnHangUp, Linger, requireProfiles, type ServeFlags, warningsOf } from './serve-settings.ts'
import { joinGateway, serveStdio } from './serve-stdio.ts'

/** Serves the configured servers at one MCP endpoint until a signal, or `toolcrib stop`, ends it. */
export async function runServe(terminal: Terminal, flags: ServeFlags): Promise<number> {
  const found = await findWithFlags(terminal, flags)
  requireProfiles(flags.profile, found)
  noteWarnings(terminal, { ...found, warnings: [...found.warnings, ...warningsOf(found.config)] })
  const running = await RunningGateway.find(found, terminal.env)
  if (flags.background)
    return (await import('./serve-background.ts')).serveInBackground(terminal, flags, { found, running })
  if (flags.open && !flags.stdio && running?.report.page !== undefined) return openPageOf(terminal, running)
  if (flags.stdio && !hasOwnSettings(flags)) {
    const shared =
      running ?? (await (await import('./serve-background.ts')).startShared(terminal, flags, found))
    if (shared) return joinGateway(terminal, shared, flags.profile)
  }
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

/** Opens the page of a gateway that runs already. */
async function openPageOf(
  terminal: Terminal,
  { place, report: { page = '' } }: RunningGateway,
): Promise<number> {
  terminal.say(`a gateway of this config is running already, ${place}; its page opens`)
  await showPage(terminal, page)
  return 0
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
  const file = path === undefined ? undefined : await LogFile.open(path)
  try {
    const logs = new LogBook(file)
    const exitCode = await serveWith(stores, terminal, flags, { ...serving, logs })
    logs.write('info', `stopped: ${whatStopped(serving.signal)}`)
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
  { found, access, running, signal, logs }: Serving & { readonly logs: LogBook },
): Promise<number> {
  const { store, announcements } = stores
  const fault = await stores.tried
  if (fault !== undefined) terminal.note(`${pc.red('✗')} ${fault}`)
  // Authorization servers accept this machine's own address without a certificate.
  const signIns = new SignIns({ origin: `http://127.0.0.1:${flags.port}`, store })
  const opened = await openFromConfig({
    found,
    env: terminal.env,
    memory: true,
    connect: { client: { capabilities: GATEWAY_CAPABILITIES }, oauth: signIns.oauth },
    // Replicas share catalogues, vectors, memory and OAuth tokens; a single gateway uses the user's folders.
    ...(store && announcements ? { store } : {}),
    ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
    registry: await openScripts(found.config, terminal.env, store),
  })
  opened.registry.subscribe((event) => logs.note(event))
  void opened.apis().then((apis) => noteApis(terminal, apis))
  noteSkills(terminal, await opened.skippedSkills())
  // A saved script names the tools that it calls, those of APIs too.
  if (found.config.scripts?.enabled) await opened.apis()
  if (found.config.scripts?.enabled)
    for (const fault of await SavedScripts.of(found.config).register(opened.registry)) terminal.warn(fault)
  const notes = new ServeNotes(terminal, logs, opened)
  const find = async () => {
    const next = await findWithFlags(terminal, flags)
    requireProfiles(flags.profile, next)
    return next
  }
  const live = new LiveConfig(found, opened, find, (outcome) => notes.reloaded(outcome))
  try {
    if (flags.strict) await notes.requireRules(found.config)
    else void notes.showRules(found.config)
    const gateway = createGateway({
      registry: opened.registry,
      servers: opened.servers,
      store,
      announcements,
      onReload: () => void live.reload(),
      ...access.options(),
      mode: flags.mode,
      names: flags.names,
      logger: new GatewayLines(logs),
      alwaysAllowed: ConfiguredTools.of(() => live.found.config, terminal.env, flags.config),
      audit: auditOptions(found, terminal.env),
      onPending: notifier(() => live.found.config.gateway?.onAsk, terminal),
    })
    live.attach({
      apply: async (next) => gateway.reload(await access.reread(next, terminal)),
      announceReload: () => gateway.announceReload(),
    })
    const served = { opened, gateway, live, logs }
    const hasReplicas = announcements !== undefined
    try {
      return flags.stdio
        ? await serveStdio(terminal, served, { profile: flags.profile, signal })
        : await serveHttp(
            terminal,
            flags,
            { ...served, access, notes, running, signIns, store, hasReplicas },
            signal,
          )
    } finally {
      await gateway.close()
    }
  } finally {
    await opened.close()
  }
}

/** Where calls are recorded, if the config says so. Throws `config-invalid` if there is no folder for it. */
function auditOptions({ config }: FoundConfig, env: Terminal['env']): AuditOptions | undefined {
  const { audit = 'off' } = config.gateway ?? {}
  if (audit === 'off') return undefined
  const directory = auditFolder(config.files, env)
  if (directory === undefined)
    throw new ToolcribError('config-invalid', 'audit of [gateway] needs a folder for the record; set HOME')
  return { directory, arguments: audit.includes('arguments'), required: audit.includes('required') }
}

/** The time for draining, and for stopping servers that do not end by themselves. */
const EXIT_MS = DRAIN_MS + 6_000

function exitProcess(exitCode: number, afterMs: number): void {
  setTimeout(() => process.exit(exitCode), afterMs).unref()
}
