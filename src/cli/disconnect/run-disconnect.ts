import pc from 'picocolors'
import { applyDisconnect, type ClientChange, connectableClients, planDisconnect } from 'toolcrib/clients'
import { clientPlace } from '../client-place.ts'
import { requireClients } from '../require-clients.ts'
import { showDiff } from '../show-diff.ts'
import type { Terminal } from '../terminal.ts'
import { plain } from '../text.ts'
import { UsageError } from '../usage-error.ts'

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
  for (const change of changes.values()) if (change && !dryRun) await applyDisconnect(change, place)
  if (json)
    terminal.printJson({ clients: [...changes].map(([client, change]) => toJson(client, change, dryRun)) })
  else if (changes.size === 0) terminal.say('no client is connected, so there is nothing to undo')
  else for (const [client, change] of changes) show(terminal, client, change, dryRun)
  return [...changes.values()].every((change) => change !== undefined) ? 0 : 1
}

function show(terminal: Terminal, client: string, change: ClientChange | undefined, isDry: boolean): void {
  if (change === undefined) {
    terminal.note(`${pc.yellow('note')} ${client} is not connected`)
    return
  }
  const { title, path, moved, isExact, diff } = change
  if (isDry) {
    terminal.say(`${pc.bold(pc.cyan(title))}  ${pc.dim(path)}`)
    showDiff(terminal, diff)
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
