import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { type ClientChange, type ConnectClientOptions, planConnect } from 'toolcrib/clients'
import type { Terminal } from './terminal.ts'
import { plain } from './text.ts'

/** Plans the change of each client, and reports those that cannot be connected; they do not affect the others. */
export async function planClients(
  terminal: Terminal,
  clients: readonly string[],
  options: ConnectClientOptions,
): Promise<ClientChange[]> {
  const changes: ClientChange[] = []
  for (const client of clients)
    try {
      changes.push(await planConnect(client, options))
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error
      terminal.note(`${pc.yellow('note')} ${client} is left as it is: ${plain(error.message)}`)
    }
  return changes
}
