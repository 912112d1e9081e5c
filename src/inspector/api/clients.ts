import {
  applyConnect,
  applyDisconnect,
  type ClientChange,
  connectableClients,
  planConnect,
  planDisconnect,
  ServersFile,
} from 'toolcrib/clients'
import { changeDigestOf } from '../config/editable-config.ts'
import type { Inspection } from '../inspection.ts'
import type { ClientConnection, ConnectedClient } from '../inspector-options.ts'
import { anyText, flag, invalid, oneOf, reading, text, writing } from './route.ts'

/** Who uses the gateway now, who did earlier, and which clients are on this machine. */
export const clients = reading({}, async (inspection) => {
  const { connection } = inspection
  const installed = connection === undefined ? [] : await connectableClients(connection)
  const command = (await inspection.commandLine()).of('serve', '--stdio')
  const isHere = ({ isOpen, lastSeenAt }: ConnectedClient) =>
    isOpen || inspection.now() - lastSeenAt < STAYS_MS
  const all = inspection.clients()
  return {
    connected: all.filter(isHere),
    /** Clients that may have left: few announce it. */
    earlier: all.filter((client) => !isHere(client)),
    installed,
    canConnect: connection !== undefined,
    command,
  }
})

/** How long a client without a connection counts as connected after its last request. */
const STAYS_MS = 60_000

/**
 * Replaces a client's servers with the gateway, or undoes that: first returns a plan, then, with `confirmed` and the
 * plan's digest, makes the change. What the client runs is decided by the user who started the gateway, never by the
 * page.
 */
export const connectClient = writing(
  { client: text, kind: oneOf('connect', 'disconnect'), confirmed: flag, digest: anyText },
  async (inspection, { client, kind, confirmed, digest }) => {
    const { connection } = inspection
    if (!connection) throw invalid('clients cannot be connected here; run "toolcrib connect"')
    const change =
      kind === 'connect'
        ? await plan(inspection, client, connection)
        : await planDisconnect(client, connection)
    if (!change) throw invalid(`${client} is not connected`)
    const shown = toShown(change)
    if (!confirmed) return shown
    if (shown.digest !== digest)
      throw invalid(`${change.path} has changed meanwhile; look at the change again`)
    if (kind === 'connect') await applyConnect(change, connection)
    else await applyDisconnect(change, connection)
    return shown
  },
)

async function plan(
  inspection: Inspection,
  client: string,
  connection: ClientConnection,
): Promise<ClientChange> {
  const { door, ...place } = connection
  const config = (await inspection.config?.found())?.config.files.at(-1)
  const known = config === undefined ? new Map() : (await ServersFile.open(config)).servers()
  return planConnect(client, { ...place, door, known })
}

/** A config may contain secrets; they are masked in the diff. */
function toShown({ title, path, before, after, moved, kept, diff }: ClientChange) {
  const digest = changeDigestOf(path, before, after)
  return { title, path, moved, kept, diff, digest, isNeeded: before !== after }
}
