import type { ServerStatus } from '@toolcrib/core'
import { type ConnectedServers, compareWithLock, type ServerConfig } from '@toolcrib/mcp'
import { invalid, reading, text, writing } from './route.ts'
import { consentOf } from './sign-in.ts'

/** Every server with its state and figures. */
export const servers = reading({}, async (inspection) => {
  const { servers: connected, registry, config, book, serverLog } = inspection
  const rows = await book.rows()
  const found = (await config?.found())?.config
  const configured = found?.servers ?? {}
  const disabled = (await config?.disabled()) ?? []
  const describe = async (status: ServerStatus) => {
    const own = rows.filter(({ kind, source }) => kind === 'mcp' && source === status.server)
    const { lines, ...course } = serverLog.of(status.server)
    const info = connected.info(status.server)
    const needsSignIn = status.state === 'failed' && status.needs === 'sign-in'
    const canSignIn = inspection.signIns !== undefined && configured[status.server]?.url !== undefined
    return {
      ...status,
      ...course,
      lastLine: lines.at(-1)?.text ?? null,
      tools: own.length,
      /** How many of them wait in quarantine. */
      held: own.filter(({ name }) => registry.explain(name).state === 'quarantined').length,
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      runs: commandOf(status.server, configured[status.server]),
      /** Whether it has an address, which can be changed here. */
      isRemote: configured[status.server]?.url !== undefined,
      about: aboutOf(info),
      /** The command that checks it step by step, in a terminal. */
      doctor: (await inspection.commandLine(status.server)).of('doctor', status.server),
      /** Whether the user can and should sign in to it here. */
      needsSignIn: needsSignIn && canSignIn && config !== undefined,
      consent: consentOf(inspection, status.server),
    }
  }
  return {
    servers: await Promise.all(connected.status().map(describe)),
    canChange: config !== undefined,
    disabled,
    files: found?.files ?? [],
    /** The start of the command that adds a stdio server, in a terminal; append its name, `--` and its command. */
    addCommand: (await inspection.commandLine()).of('add'),
  }
})

/** What happened to a server, line by line. */
export const serverLines = reading(
  { server: text },
  ({ serverLog }, { server }) => serverLog.of(server).lines,
)

/** Ends a server's process and starts it again, including one that is asleep. */
export const restartServer = writing({ server: text }, async ({ config, servers: connected }, { server }) => {
  const status = () => connected.status().find((each) => each.server === server) ?? null
  await needed(config).restart(server)
  // A failure is in the status. A server that has already failed was refused, or needs a sign-in.
  if (status()?.state !== 'failed') await connected.client(server).catch(() => {})
  return status()
})

function needed<Value>(config: Value | undefined): Value {
  if (config !== undefined) return config
  throw invalid('this gateway was opened without a config file, so nothing can be changed here')
}

/**
 * The command as it is written, with secrets masked as in a comparison with a lockfile. Of an address only the origin
 * is shown, since its path may be a secret.
 */
function commandOf(server: string, config: ServerConfig | undefined): string | null {
  if (!config) return null
  if (config.url !== undefined) return URL.canParse(config.url) ? new URL(config.url).origin : 'a URL'
  const [added] = compareWithLock({ servers: new Map() }, new Map([[server, { config }]]))
  const fields = added && 'fields' in added ? added.fields : []
  const valueAt = (path: string) => fields.find((field) => field.path === path)?.after
  return [valueAt('command') ?? config.command ?? '', valueAt('args') ?? []].flat().map(String).join(' ')
}

function aboutOf(info: ReturnType<ConnectedServers['info']>) {
  if (!info) return null
  const { serverInfo, protocolVersion, era } = info
  const { name, version } = serverInfo ?? {}
  return {
    name: typeof name === 'string' ? name : null,
    version: typeof version === 'string' ? version : null,
    protocol: protocolVersion,
    era,
  }
}
