import { ToolcribError } from '@toolcrib/core'
import { nearestName } from '@toolcrib/core/internal'
import {
  applyConnect,
  type ClientChange,
  type ClientPlace,
  type ClientProfiles,
  type ConnectableClient,
  type GatewayDoor,
  planConnect,
} from '@toolcrib/mcp/clients'
import pc from 'picocolors'
import { showDiff } from '../terminal/show-diff.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { clientPlace } from './client-place.ts'

/** Throws `UsageError` for an unknown client. */
export function requireClients(
  names: readonly string[],
  clients: readonly { readonly client: string }[],
): void {
  const known = [...new Set(clients.map(({ client }) => client))]
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown, known)
  const step = nearest === undefined ? `use one of ${known.join(', ')}` : `did you mean "${nearest}"?`
  throw new UsageError(`unknown client "${plain(unknown)}"; ${step}`)
}

/** How clients reach the gateway, and what they see of it. */
export interface ConnectPlan {
  readonly place: ClientPlace
  readonly profiles: ClientProfiles
  doorOf(profile: string | undefined): GatewayDoor
  /** true: every client sees every server. Otherwise each keeps the servers that it had. */
  readonly isEverything: boolean
}

/**
 * Plans the change of one client, with its profile, which is written by `profiles.save()`. Throws `config-invalid` for a
 * client that cannot be connected.
 */
export async function planClient(
  client: ConnectableClient,
  { place, profiles, doorOf, isEverything }: ConnectPlan,
): Promise<ClientChange> {
  const wanted = isEverything ? { servers: profiles.all } : await profiles.of(client)
  const door = doorOf(wanted.profile)
  const change = await planConnect(client.client, { ...place, door, known: profiles.known })
  const profile = profiles.keep(wanted)
  return profile === undefined ? change : { ...change, profile }
}

/** Plans the change of each client, and reports those that cannot be connected; they do not affect the others. */
export async function planClients(
  terminal: Terminal,
  clients: readonly ConnectableClient[],
  plan: ConnectPlan,
): Promise<ClientChange[]> {
  const changes: ClientChange[] = []
  for (const client of clients)
    try {
      changes.push(await planClient(client, plan))
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error
      terminal.warn(`${client.client} is left as it is: ${plain(error.message)}`)
    }
  return changes
}

/** Prints which config changes, and how. */
export function showClientChange(
  terminal: Terminal,
  { title, path, before, after, diff }: ClientChange,
): void {
  terminal.say(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
  if (before === after) terminal.say('  is connected already')
  else showDiff(terminal, diff)
}

/** Writes the planned changes. Returns where the old config of each client is. */
export async function connectClients(
  terminal: Terminal,
  changes: readonly ClientChange[],
): Promise<ReadonlyMap<string, string>> {
  const backups = new Map<string, string>()
  const place = clientPlace(terminal)
  for (const change of changes) backups.set(change.client, (await applyConnect(change, place)).backup)
  return backups
}

/** Prints what was connected, and how to undo it; `more` comes in between. */
export function showConnected(
  terminal: Terminal,
  changes: readonly ClientChange[],
  more: readonly string[] = [],
): void {
  const titles = changes.map(({ title }) => title).join(', ')
  terminal.say(`${pc.green('connected')} ${titles}; restart ${changes.length === 1 ? 'it' : 'them'}`)
  for (const line of more) terminal.say(line)
  terminal.say(pc.dim(`undo with "toolcrib disconnect ${changes.map(({ client }) => client).join(' ')}"`))
}
