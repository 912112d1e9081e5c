import { join } from 'node:path'
import { configDirectory, literalSecrets, type ServerConfig } from '@toolcrib/mcp'
import {
  applyDisconnect,
  type ClientChange,
  connectableClients,
  planDisconnect,
  removeMadeProfiles,
  ServersFile,
} from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { requireClients, showClientChange } from '../clients/client-changes.ts'
import { clientPlace } from '../clients/client-place.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, plural } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface DisconnectFlags {
  readonly all?: boolean
  readonly dryRun?: boolean
  /** Accepted as for `connect`; nothing is asked. */
  readonly yes?: boolean
  readonly json?: boolean
}

/** Gives clients their own servers back. */
export async function runDisconnect(
  terminal: Terminal,
  names: readonly string[],
  { all = false, dryRun = false, json = false }: DisconnectFlags,
): Promise<number> {
  const place = clientPlace(terminal)
  const known = await connectableClients(place)
  requireClients(names, known)
  const connected = known.filter(({ isConnected }) => isConnected)
  const clients = all ? connected.map(({ client }) => client) : names
  if (clients.length === 0 && !all) {
    const there = connected.map(({ client }) => client).join(', ') || 'none is connected'
    throw new UsageError(`name the clients to disconnect, or pass --all: ${there}`)
  }
  const changes = new Map<string, ClientChange | undefined>()
  for (const client of clients) changes.set(client, await planDisconnect(client, place))
  if (!dryRun) {
    const planned = [...changes.values()].flatMap((change) => change ?? [])
    for (const change of planned) await applyDisconnect(change, place)
    const made = planned.flatMap(({ profile }) => profile ?? [])
    await removeMadeProfiles(made, await connectableClients(place))
  }
  if (json)
    terminal.printJson({ clients: [...changes].map(([client, change]) => toJson(client, change, dryRun)) })
  else if (changes.size === 0) terminal.say('no client is connected, so there is nothing to undo')
  else for (const [client, change] of changes) show(terminal, client, change, dryRun)
  if (all && changes.size > 0 && !json && !dryRun) await noteRemains(terminal)
  return [...changes.values()].every((change) => change !== undefined) ? 0 : 1
}

/** The config has copies of servers and of their secrets, which nobody uses any more. */
async function noteRemains(terminal: Terminal): Promise<void> {
  const folder = configDirectory(terminal.env)
  if (folder === undefined) return
  const path = join(folder, 'toolcrib.toml')
  const servers = [...((await ServersFile.open(path).catch(() => undefined))?.servers() ?? [])]
  if (servers.length === 0) return
  const secret = servers.filter(([, server]) => literalSecrets(server as ServerConfig).length > 0)
  const secrets =
    secret.length === 0 ? '' : `, with the secrets of ${secret.map(([name]) => plain(name)).join(', ')}`
  terminal.say(
    `${path} still has ${plural(servers.length, 'server')}${secrets}; remove it with "toolcrib uninstall"`,
  )
}

function show(terminal: Terminal, client: string, change: ClientChange | undefined, isDry: boolean): void {
  if (change === undefined) {
    terminal.warn(`${client} is not connected`)
    return
  }
  const { title, moved, isExact } = change
  if (isDry) {
    showClientChange(terminal, change)
    return
  }
  const how = isExact ? 'its config is what it was before' : 'it was changed since; the rest of it is kept'
  const back = moved.length === 0 ? '' : `, with ${moved.map(plain).join(', ')}`
  terminal.say(`${pc.green('disconnected')} ${title}${back}: ${how}; restart it`)
}

function toJson(client: string, change: ClientChange | undefined, isDry: boolean): object {
  if (change === undefined) return { client, connected: false, written: false }
  const { path, moved, isExact } = change
  return { client, connected: true, written: !isDry, path, moved, exact: isExact }
}
