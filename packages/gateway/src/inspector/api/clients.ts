import {
  applyConnect,
  applyDisconnect,
  type ClientChange,
  type ClientPlace,
  ClientProfiles,
  connectableClients,
  type GatewayDoor,
  planConnect,
  planDisconnect,
  removeMadeProfiles,
} from '@toolcrib/mcp/clients'
import { changeDigestOf } from '../config/editable-config.ts'
import type { Inspection } from '../inspection.ts'
import type { ConnectedClient } from '../inspector-options.ts'
import { anyText, flag, invalid, oneOf, reading, text, writing } from './route.ts'

/** Who uses the gateway now, who did earlier, and which clients are on this machine. */
export const clients = reading({}, async (inspection) => {
  const { connection } = inspection
  const installed = connection === undefined ? [] : await connectableClients(connection)
  const command = (await inspection.commandLine()).forPrograms('serve', '--stdio')
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
 * Replaces a client's servers with the gateway, which shows it the same ones, or undoes that: first returns a plan, then, with `confirmed` and the
 * plan's digest, makes the change. What the client runs is decided by the user who started the gateway, never by the
 * page.
 */
export const connectClient = writing(
  { client: text, kind: oneOf('connect', 'disconnect'), confirmed: flag, digest: anyText },
  async (inspection, { client, kind, confirmed, digest }) => {
    const { connection } = inspection
    if (!connection) throw invalid('clients cannot be connected here; run "toolcrib connect"')
    const { door, program: _, ...place } = connection
    const profiles = await profilesOf(inspection, place)
    const change =
      kind === 'connect' ? await plan(client, { place, door, profiles }) : await planDisconnect(client, place)
    if (!change) throw invalid(`${client} is not connected`)
    const shown = toShown(change)
    if (!confirmed) return shown
    if (shown.digest !== digest)
      throw invalid(`${change.path} has changed meanwhile; look at the change again`)
    if (kind === 'connect') {
      await profiles?.save()
      await applyConnect(change, place)
    } else {
      await applyDisconnect(change, place)
      if (change.profile) await removeMadeProfiles([change.profile], await connectableClients(place))
    }
    return shown
  },
)

/** What each client sees of the last config file; undefined without a config. */
async function profilesOf(inspection: Inspection, place: ClientPlace): Promise<ClientProfiles | undefined> {
  const config = (await inspection.config?.found())?.config.files.at(-1)
  return config === undefined ? undefined : ClientProfiles.open(config, place)
}

async function plan(
  name: string,
  {
    place,
    door,
    profiles,
  }: {
    readonly place: ClientPlace
    readonly door: GatewayDoor
    readonly profiles: ClientProfiles | undefined
  },
): Promise<ClientChange> {
  const client = (await connectableClients(place)).find(({ client }) => client === name)
  const wanted = client && (await profiles?.of(client))
  const known = profiles?.known ?? new Map()
  const change = await planConnect(name, { ...place, door: doorTo(door, wanted?.profile), known })
  const profile = wanted && profiles?.keep(wanted)
  return profile === undefined ? change : { ...change, profile }
}

/** The way to what one profile shows. */
function doorTo(door: GatewayDoor, profile: string | undefined): GatewayDoor {
  if (profile === undefined) return door
  return door.kind === 'http'
    ? { ...door, url: `${door.url}/${profile}` }
    : { ...door, args: [...door.args, '--profile', profile] }
}

/** A config may contain secrets; they are masked in the diff. */
function toShown({ title, path, before, after, moved, kept, diff }: ClientChange) {
  const digest = changeDigestOf(path, before, after)
  return { title, path, moved, kept, diff, digest, isNeeded: before !== after }
}
