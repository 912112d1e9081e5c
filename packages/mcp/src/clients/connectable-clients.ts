import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { isRecord, nearestName } from '@toolcrib/core/internal'
import { CLIENT_FORMATS, type ClientFormat, ENTRY_NAME } from './client-entries.ts'
import { type ClientFile, type ClientPlace, clientFiles } from './client-files.ts'
import { loadFormat } from './load-format.ts'
import { isGateway, sameServer } from './plan-import.ts'
import type { ImportedServer } from './read-servers.ts'
import { readText } from './servers-file.ts'

/** A client whose config `connect` can change. */
export interface ConnectableClient {
  /** Its short name, such as `claude-code`. */
  readonly client: string
  readonly title: string
  /** Its user's config, or the project's for a client that has no other. */
  readonly path: string
  /** true: the config belongs to the project, and perhaps to other people. */
  readonly isOfProject?: boolean
  /** Whether the client seems to be installed: its config, or the folder for it, exists. */
  readonly isThere: boolean
  readonly isConnected: boolean
  /** The gateway that it is connected to: its URL, or the config that it is started with. */
  readonly gateway?: string
  /** The profile of the gateway that it uses; undefined if it sees every server. */
  readonly profile?: string
  /** The names of the servers in it, without the gateway. */
  readonly servers: readonly string[]
  /** Why its config cannot be read. */
  readonly problem?: string
}

/** The clients that `connect` supports, in a fixed order, and the content of their configs. */
export async function connectableClients(place: ClientPlace): Promise<ConnectableClient[]> {
  return Promise.all(Object.keys(CLIENT_FORMATS).map((client) => describeClient(client, place)))
}

async function describeClient(client: string, place: ClientPlace): Promise<ConnectableClient> {
  const { file, isThere } = findClient(client, place)
  const { title, path } = file
  const about = { client, title, path, ...(file.isOfProject ? { isOfProject: true } : {}), isThere }
  try {
    const { entries, isConnected, gateway, profile } = await readClient(client, file)
    const where = {
      ...(gateway === undefined ? {} : { gateway }),
      ...(profile === undefined ? {} : { profile }),
    }
    return { ...about, isConnected, ...where, servers: [...entries.keys()] }
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error
    return { ...about, isConnected: false, servers: [], problem: error.message }
  }
}

/** The config of a client: the user's, if it has one. Throws `config-invalid` for an unknown client. */
export function findClient(
  client: string,
  place: ClientPlace,
): { readonly file: ClientFile; readonly format: ClientFormat; readonly isThere: boolean } {
  const format = Object.hasOwn(CLIENT_FORMATS, client) ? CLIENT_FORMATS[client] : undefined
  const all = clientFiles(place).filter((file) => file.client === client)
  const ofUser = all.filter(({ isOfProject }) => !isOfProject)
  const files = ofUser.length > 0 ? ofUser : all
  const file = files.find(({ path }) => existsSync(path)) ?? files.find(isInstalled) ?? files[0]
  if (format && file) return { file, format, isThere: existsSync(file.path) || isInstalled(file) }
  const known = Object.keys(CLIENT_FORMATS)
  const nearest = nearestName(client, known)
  const step = nearest === undefined ? `use one of ${known.join(', ')}` : `did you mean "${nearest}"?`
  throw new ToolcribError('config-invalid', `unknown client "${client}"; ${step}`)
}

/** The folders of these files exist on every machine. */
const SHARED_FOLDERS = ['claude-code', 'librechat']

function isInstalled({ client, path }: ClientFile): boolean {
  return !SHARED_FOLDERS.includes(client) && existsSync(dirname(path))
}

/** The content of a client's config. */
export interface ClientContent {
  /** undefined when there is no file. */
  readonly text: string | undefined
  readonly isConnected: boolean
  /** The gateway's URL, or the config that it is started with. */
  readonly gateway?: string
  /** The profile in the gateway's entry. */
  readonly profile?: string
  /** Its servers as written, without the gateway. */
  readonly raw: ReadonlyMap<string, unknown>
  /** The same in the keys of a toolcrib config. */
  readonly entries: ReadonlyMap<string, ImportedServer>
}

/** Reads a client's config. Throws `config-invalid` when it cannot be read or parsed. */
export async function readClient(client: string, file: ClientFile): Promise<ClientContent> {
  const text = await readText(file.path)
  const format = CLIENT_FORMATS[client]
  if (text === undefined || !format) return { text, isConnected: false, raw: new Map(), entries: new Map() }
  try {
    const data = (await loadFormat(file.path)).parse(text)
    const table = format.servers.reduce<unknown>(
      (inner, key) => (isRecord(inner) ? inner[key] : undefined),
      data,
    )
    const raw = new Map(Object.entries(isRecord(table) ? table : {}))
    const all = [...file.read(data)].filter(([name]) => raw.has(name))
    const entries = new Map(all.filter(([name, server]) => !isGateway(name, server)))
    const isConnected = raw.has(ENTRY_NAME) && !entries.has(ENTRY_NAME)
    const where = isConnected ? placeOf(new Map(all).get(ENTRY_NAME)) : {}
    return { text, isConnected, ...where, raw, entries }
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error
    throw new ToolcribError('config-invalid', `${file.path}: ${error.message}`, { cause: error })
  }
}

function placeOf({ url, args }: ImportedServer = {}): Pick<ClientContent, 'gateway' | 'profile'> {
  if (typeof url === 'string') {
    const profile = /\/mcp\/([\w.-]+)$/.exec(url)?.[1]
    return { gateway: url, ...(profile === undefined ? {} : { profile }) }
  }
  const words: readonly unknown[] = Array.isArray(args) ? args : []
  const wordAfter = (flag: string) => (words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined)
  const [gateway, profile] = [wordAfter('--config'), wordAfter('--profile')]
  return {
    ...(typeof gateway === 'string' ? { gateway } : {}),
    ...(typeof profile === 'string' ? { profile } : {}),
  }
}

/**
 * The servers of a toolcrib config that a client has in its own config too, and has not disabled, by their names in the
 * toolcrib config. Throws `config-invalid` for an unknown client, and a config that cannot be read.
 */
export async function serversOfClient(
  client: string,
  place: ClientPlace,
  known: ReadonlyMap<string, ImportedServer>,
): Promise<readonly string[]> {
  const { entries } = await readClient(client, findClient(client, place).file)
  const own = [...entries.values()].filter(({ disabled }) => !disabled)
  return [...known]
    .filter(([, server]) => own.some((other) => sameServer(server, other)))
    .map(([name]) => name)
}
