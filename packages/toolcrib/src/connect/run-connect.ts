import { ToolcribError } from '@toolcrib/core'
import {
  type ClientChange,
  ClientProfiles,
  type ConnectableClient,
  connectableClients,
  type GatewayDoor,
} from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import {
  connectClients,
  planClient,
  planClients,
  requireClients,
  showClientChange,
  showConnected,
} from '../clients/client-changes.ts'
import { clientPlace, stdioGateway } from '../clients/client-place.ts'
import { userToken } from '../config/access-token.ts'
import { clientConfig } from '../config/client-config.ts'
import { RunningGateway } from '../gateway/running-gateway.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, plain, plural } from '../terminal/text.ts'
import { requireHttpUrl, UsageError } from '../terminal/usage-error.ts'

export interface ConnectFlags {
  readonly all?: boolean
  readonly allServers?: boolean
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
  requireHttpWithUrl(flags)
  const place = clientPlace(terminal)
  const all = await connectableClients(place)
  requireClients(names, all)
  const clients = flags.all
    ? all.filter(({ isThere }) => isThere)
    : names.flatMap((name) => all.find(({ client }) => client === name) ?? [])
  if (clients.length === 0) return showClients(terminal, all, flags)
  const config = await clientConfig(terminal, flags)
  const profiles = await ClientProfiles.open(config, place)
  const { doorOf, hasProfiles } = await chooseTransport(terminal, config, flags)
  const plan = { place, profiles, doorOf, isEverything: flags.allServers === true || !hasProfiles }
  // If the user named a client, a problem with its config is an error.
  const changes = flags.all
    ? await planClients(terminal, clients, plan)
    : await Promise.all(clients.map((client) => planClient(client, plan)))
  const pending = changes.filter(({ before, after }) => before !== after)
  if (!flags.json) showChanges(terminal, changes, profiles)
  const isMeant = pending.length > 0 && !flags.dryRun && (await isConfirmed(terminal, pending, flags))
  if (isMeant) await profiles.save()
  const backups = await connectClients(terminal, isMeant ? pending : [])
  if (flags.json) terminal.printJson({ config, clients: changes.map((change) => toJson(change, backups)) })
  else showOutcome(terminal, pending, { flags, isMeant, backups })
  const isDone = pending.length === 0 || isMeant || flags.dryRun
  return isDone && changes.length === clients.length ? 0 : 1
}

/** Throws `UsageError` for flags that do not lead to a gateway. */
function requireHttpWithUrl({ http, url }: ConnectFlags): void {
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

interface Transport {
  doorOf(profile: string | undefined): GatewayDoor
  /** false: the gateway may not have the profiles of this config, or its issuer decides about them. */
  readonly hasProfiles: boolean
}

async function chooseTransport(terminal: Terminal, config: string, flags: ConnectFlags): Promise<Transport> {
  if (!flags.http) return { doorOf: (profile) => stdioGateway(terminal, config, profile), hasProfiles: true }
  const { gateway } = (await findWithFlags(terminal, { config })).config
  if (gateway?.oauth?.problem !== undefined && flags.url === undefined)
    throw new ToolcribError('config-invalid', gateway.oauth.problem)
  const { oauth } = gateway ?? {}
  // Clients without a token find the issuer, and sign in there.
  if (oauth)
    return {
      doorOf: () => ({ kind: 'http', url: flags.url ?? oauth.resource, token: undefined }),
      hasProfiles: false,
    }
  const running = await RunningGateway.find({ config: { files: [config] } }, terminal.env)
  const url = flags.url ?? running?.report.url ?? DEFAULT_URL
  const { token } = await userToken(terminal.env)
  return {
    doorOf: (profile) => ({ kind: 'http', url: profile === undefined ? url : `${url}/${profile}`, token }),
    hasProfiles: flags.url === undefined && url.endsWith('/mcp'),
  }
}

const DEFAULT_URL = 'http://127.0.0.1:7117/mcp'

function showChanges(terminal: Terminal, changes: readonly ClientChange[], { all }: ClientProfiles): void {
  for (const change of changes) {
    showClientChange(terminal, change)
    const { moved, kept, namesakes, profile } = change
    if (moved.length > 0) terminal.say(`  the gateway takes over: ${moved.map(plain).join(', ')}`)
    if (profile !== undefined)
      terminal.say(
        `  it keeps just these, with the profile ${profile.name}; --all-servers gives it all ${all.length}`,
      )
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
  const old = pending.map(({ client, title }) =>
    pc.dim(`  the old config of ${title} is in ${backups.get(client)}`),
  )
  const keep = flags.http ? ['  keep the gateway running for them, with "toolcrib serve"'] : []
  showConnected(terminal, pending, [...old, ...keep])
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
