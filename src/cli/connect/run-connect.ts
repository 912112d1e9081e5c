import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import {
  applyConnect,
  type ClientChange,
  type ConnectableClient,
  connectableClients,
  type GatewayDoor,
  planConnect,
  ServersFile,
} from 'toolcrib/clients'
import { configDirectory } from 'toolcrib/mcp'
import { userToken } from '../access-token.ts'
import { clientPlace } from '../client-place.ts'
import { confirm } from '../confirm.ts'
import { planClients } from '../plan-clients.ts'
import { requireClients } from '../require-clients.ts'
import { requireHttpUrl } from '../require-http-url.ts'
import { RunningGateway } from '../running-gateway.ts'
import { showDiff } from '../show-diff.ts'
import type { Terminal } from '../terminal.ts'
import { columns, plain, plural } from '../text.ts'
import { UsageError } from '../usage-error.ts'
import { findWithFlags } from '../with-registry.ts'

export interface ConnectFlags {
  readonly all?: boolean
  readonly http?: boolean
  readonly url?: string
  readonly config?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** Replaces the servers of clients with the gateway: shows the diff, asks, keeps the old files, writes. */
export async function runConnect(
  terminal: Terminal,
  names: readonly string[],
  flags: ConnectFlags,
): Promise<number> {
  requireDoor(flags)
  const place = clientPlace(terminal)
  const all = await connectableClients(place)
  requireClients(names, all)
  const clients = flags.all ? all.filter(({ isThere }) => isThere).map(({ client }) => client) : names
  if (clients.length === 0) return showClients(terminal, all, flags)
  const config = await chooseConfig(terminal, flags)
  const known = (await ServersFile.open(config)).servers()
  const door = await chooseDoor(terminal, config, flags)
  const options = { ...place, door, known }
  // If the user named a client, a problem with its config is an error.
  const changes = flags.all
    ? await planClients(terminal, clients, options)
    : await Promise.all(clients.map((client) => planConnect(client, options)))
  const pending = changes.filter(({ before, after }) => before !== after)
  if (!flags.json) showChanges(terminal, changes)
  const isMeant = pending.length > 0 && !flags.dryRun && (await isConfirmed(terminal, pending, flags))
  const backups = new Map<string, string>()
  if (isMeant)
    for (const change of pending) backups.set(change.client, (await applyConnect(change, place)).backup)
  if (flags.json) terminal.printJson({ config, clients: changes.map((change) => toJson(change, backups)) })
  else showOutcome(terminal, pending, { flags, isMeant, backups })
  const isDone = pending.length === 0 || isMeant || flags.dryRun
  return isDone && changes.length === clients.length ? 0 : 1
}

/** Throws `UsageError` for flags that do not lead to a gateway. */
function requireDoor({ http, url }: ConnectFlags): void {
  if (url === undefined) return
  if (!http) throw new UsageError('--url needs --http: without it, the client starts the gateway itself')
  requireHttpUrl('--url', url)
}

function showClients(
  terminal: Terminal,
  clients: readonly ConnectableClient[],
  { json }: ConnectFlags,
): number {
  if (json) {
    terminal.printJson({ clients })
    return 0
  }
  const there = clients.filter(({ isThere }) => isThere)
  if (there.length === 0) {
    terminal.say('no client that toolcrib knows was found on this machine')
    terminal.say('write the config of one with "toolcrib connect <client>"; these are known:')
    terminal.say(`  ${clients.map(({ client }) => client).join(', ')}`)
    return 0
  }
  const rows = there.map(({ client, title, isConnected, servers, problem }) => [
    `  ${pc.cyan(client)}`,
    title,
    problem !== undefined
      ? pc.red('its config cannot be read')
      : isConnected
        ? pc.green('connected')
        : plural(servers.length, 'server'),
  ])
  for (const line of columns(rows)) terminal.say(line)
  const isDone = there.every(({ isConnected }) => isConnected)
  terminal.say(
    isDone
      ? '\nall of them use the gateway; undo with "toolcrib disconnect <client…>", or "toolcrib disconnect --all"'
      : '\nconnect some with "toolcrib connect <client…>", or all of them with "toolcrib connect --all"',
  )
  return 0
}

/** The config that clients use: that of the flag, else the user's own, else the project's. */
async function chooseConfig(terminal: Terminal, { config }: ConnectFlags): Promise<string> {
  const { env, cwd } = terminal
  if (config !== undefined) {
    const path = resolve(cwd, config)
    // Throws if it does not exist, as in every command.
    if (!existsSync(path)) await findWithFlags(terminal, { config })
    return path
  }
  const folder = configDirectory(env)
  const own = folder === undefined ? undefined : join(folder, 'toolcrib.toml')
  if (own !== undefined && existsSync(own)) return own
  const { config: found } = await findWithFlags(terminal, {})
  const file = found.files.at(-1)
  if (file !== undefined) return file
  throw new ToolcribError('config-invalid', 'no config found; write one with "toolcrib import --user"')
}

async function chooseDoor(terminal: Terminal, config: string, flags: ConnectFlags): Promise<GatewayDoor> {
  if (!flags.http) {
    const { command, args } = terminal.program
    return { kind: 'stdio', command, args: [...args, 'serve', '--stdio', '--config', config] }
  }
  const { gateway } = (await findWithFlags(terminal, { config })).config
  if (gateway?.oauth?.problem !== undefined && flags.url === undefined)
    throw new ToolcribError('config-invalid', gateway.oauth.problem)
  // Clients without a token find the issuer, and sign in there.
  if (gateway?.oauth) return { kind: 'http', url: flags.url ?? gateway.oauth.resource, token: undefined }
  const running = await RunningGateway.find({ config: { files: [config] } }, terminal.env)
  const url = flags.url ?? running?.report.url ?? DEFAULT_URL
  return { kind: 'http', url, token: (await userToken(terminal.env)).token }
}

const DEFAULT_URL = 'http://127.0.0.1:7117/mcp'

function showChanges(terminal: Terminal, changes: readonly ClientChange[]): void {
  for (const { title, path, before, after, moved, kept, namesakes, diff } of changes) {
    terminal.say(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
    if (before === after) terminal.say('  is connected already')
    else showDiff(terminal, diff)
    if (moved.length > 0) terminal.say(`  the gateway takes over: ${moved.map(plain).join(', ')}`)
    const others = kept.filter((name) => !namesakes.includes(name))
    if (others.length > 0)
      terminal.say(
        pc.yellow(
          `  stay as they are: ${others.map(plain).join(', ')} (not in the config, or disabled; add them with "toolcrib import --user")`,
        ),
      )
    for (const name of namesakes)
      terminal.say(
        pc.yellow(
          `  stays as it is: ${plain(name)} (the config has another server of that name; the client can use both)`,
        ),
      )
  }
}

/** Without a terminal nothing is written unless `--yes` says so. */
async function isConfirmed(
  terminal: Terminal,
  changes: readonly ClientChange[],
  { yes, json }: ConnectFlags,
): Promise<boolean> {
  if (yes) return true
  if (json || !terminal.isInteractive) return false
  const what = changes.length === 1 ? 'this change' : `these ${changes.length} changes`
  return confirm(terminal, `Write ${what}?`, { isDefault: true })
}

function showOutcome(
  terminal: Terminal,
  pending: readonly ClientChange[],
  {
    flags,
    isMeant,
    backups,
  }: {
    readonly flags: ConnectFlags
    readonly isMeant: boolean
    readonly backups: ReadonlyMap<string, string>
  },
): void {
  if (pending.length === 0) return
  if (!isMeant) {
    terminal.say(`nothing was written${flags.dryRun ? '' : '; use --yes to write it'}`)
    return
  }
  const titles = pending.map(({ title }) => title).join(', ')
  terminal.say(`${pc.green('connected')} ${titles}; restart ${pending.length === 1 ? 'it' : 'them'}`)
  for (const { client, title } of pending)
    terminal.say(pc.dim(`  the old config of ${title} is in ${backups.get(client)}`))
  if (flags.http) terminal.say('  keep the gateway running for them, with "toolcrib serve"')
  terminal.say(pc.dim(`  undo with "toolcrib disconnect ${pending.map(({ client }) => client).join(' ')}"`))
}

function toJson(change: ClientChange, backups: ReadonlyMap<string, string>): object {
  const { client, path, before, after, moved, kept, diff } = change
  const backup = backups.get(client)
  return {
    client,
    path,
    changed: before !== after,
    written: backup !== undefined,
    ...(backup === undefined ? {} : { backup }),
    moved,
    kept,
    diff: diff.map(({ kind, text }) => `${kind}${text}`),
  }
}
