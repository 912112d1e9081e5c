import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import {
  anyObject,
  checkOptions,
  maskSecrets,
  type OptionRules,
  objectWith,
  required,
} from '@toolcrib/core/internal'
import { stateDirectory } from '../config/user-folders.ts'
import { ENTRY_NAME, type GatewayDoor } from './client-entries.ts'
import { type ClientPlace, PLACE_RULES } from './client-files.ts'
import { findClient, readClient } from './connectable-clients.ts'
import { type DiffLine, diffLines } from './line-diff.ts'
import { loadFormat } from './load-format.ts'
import { sameServer } from './plan-import.ts'
import type { ImportedServer } from './read-servers.ts'
import { readText, replaceText } from './servers-file.ts'
import { invalid } from './text-format.ts'

/** A planned change of a client's config. */
export interface ClientChange {
  readonly client: string
  readonly title: string
  readonly path: string
  /** undefined if the file does not exist. */
  readonly before: string | undefined
  /** undefined if the file will be removed, because it did not exist before. */
  readonly after: string | undefined
  /** Servers that the gateway replaces, or that are restored. */
  readonly moved: readonly string[]
  /** Servers that stay, because the gateway does not have them or the client has disabled them. */
  readonly kept: readonly string[]
  /** Those of `kept` whose name the gateway uses for another server. */
  readonly namesakes: readonly string[]
  /** What changes, line by line, with secrets masked. */
  readonly diff: readonly DiffLine[]
  /** True if a disconnected file is restored byte for byte. */
  readonly isExact: boolean
  /** The profile that was made for this client: `applyConnect()` records it, and `planDisconnect()` returns it. */
  readonly profile?: MadeProfile
}

/** A profile that was made for one client, to be removed once the client is disconnected. */
export interface MadeProfile {
  /** The toolcrib config that has it. */
  readonly config: string
  readonly name: string
}

/** What is recorded about a connected client, besides its old config. */
interface ConnectionRecord {
  readonly client: string
  readonly path: string
  readonly connectedAt: string
  /** Whether the config existed before. */
  readonly existed: boolean
  /** The digest of the config as it was written; a different one means that somebody has changed it since. */
  readonly written: string
  /** The servers that were removed, as they were written. */
  readonly removed: Readonly<Record<string, unknown>>
  readonly profile?: MadeProfile
}

/** Options of `planConnect()`: how the client reaches the gateway, and which servers the gateway has. */
export interface ConnectClientOptions extends ClientPlace {
  readonly door: GatewayDoor
  /** The servers that the gateway has: only these are removed from the client's config. */
  readonly known: ReadonlyMap<string, ImportedServer>
}

const CONNECT_RULES: OptionRules<ConnectClientOptions> = {
  ...PLACE_RULES,
  door: required(anyObject),
  known: required(objectWith('values')),
}

/**
 * Plans to replace a client's servers with the gateway; changes nothing. Throws `config-invalid` for an unknown client,
 * one that cannot use the door, and a config that cannot be read or changed.
 */
export async function planConnect(client: string, options: ConnectClientOptions): Promise<ClientChange> {
  checkOptions('planConnect()', options, CONNECT_RULES)
  const { file, format } = findClient(client, options)
  const { text, raw, entries } = await readClient(client, file)
  const entry = format.entry(options.door)
  if (entry === undefined)
    throw invalid(`${file.title} starts its servers and does not accept a URL; connect it without --http`)
  const known = [...options.known.values()]
  const isKnown = (server: ImportedServer) => known.some((other) => sameServer(other, server))
  const moved = [...entries].filter(([, server]) => !server.disabled && isKnown(server)).map(([name]) => name)
  const { set } = await loadFormat(file.path)
  let after = text ?? ''
  for (const name of moved) after = set(after, [...format.servers, name], undefined)
  const isWritten = JSON.stringify(raw.get(ENTRY_NAME)) === JSON.stringify(entry)
  if (!isWritten) after = set(after, [...format.servers, ENTRY_NAME], entry)
  const kept = [...entries.keys()].filter((name) => !moved.includes(name))
  const namesakes = kept.filter((name) => !entries.get(name)?.disabled && options.known.has(name))
  return toChange({ client, title: file.title, path: file.path, before: text, after, moved, kept, namesakes })
}

/**
 * Makes the change, after saving a copy of the config. Does nothing if there is nothing to change. Throws
 * `config-invalid` if the config has changed since it was planned, or if nothing can be saved. Returns the path of the
 * old config.
 */
export async function applyConnect(
  change: ClientChange,
  place: ClientPlace,
  now: Date = new Date(),
): Promise<{ readonly backup: string }> {
  const { client, path, before, after = '', moved } = change
  const files = recordFiles(client, path, place)
  if (before === after) return { backup: files.before }
  const bytes = await readBytes(path)
  if (bytes?.toString('utf8') !== before) throw invalid(`${path} changed in the meantime; try again`)
  const earlier = await readRecord(files.record)
  const isUntouched = earlier === undefined || earlier.written === digestOf(before ?? '')
  const { file } = findClient(client, place)
  const { raw } = await readClient(client, file)
  const removed = Object.fromEntries(moved.map((name) => [name, raw.get(name)]))
  const profile = change.profile ?? earlier?.profile
  const record: ConnectionRecord = {
    client,
    path,
    connectedAt: earlier?.connectedAt ?? now.toISOString(),
    existed: earlier?.existed ?? bytes !== undefined,
    // Without a digest, later changes by others are kept when the client is disconnected.
    written: isUntouched ? digestOf(after) : '',
    removed: { ...earlier?.removed, ...removed },
    ...(profile === undefined ? {} : { profile }),
  }
  if (earlier === undefined) await replaceText(files.before, bytes ?? '')
  await replaceText(files.record, `${JSON.stringify(record, null, 2)}\n`)
  await replaceText(path, after)
  return { backup: files.before }
}

/**
 * Plans to undo `connect`; changes nothing. If nobody has changed the config since, it is restored byte for byte;
 * otherwise the gateway's entry is removed and the servers are put back. Returns undefined if the client is not
 * connected.
 */
export async function planDisconnect(client: string, place: ClientPlace): Promise<ClientChange | undefined> {
  const { file, format } = findClient(client, place)
  const { title, path } = file
  const record = await readRecord(recordFiles(client, path, place).record)
  const text = await readText(path)
  const moved = Object.keys(record?.removed ?? {})
  const made = record?.profile === undefined ? {} : { profile: record.profile }
  if (record && text !== undefined && digestOf(text) === record.written) {
    const before = await readText(recordFiles(client, path, place).before)
    const after = record.existed ? before : undefined
    return toChange({ client, title, path, before: text, after, moved, kept: [], isExact: true, ...made })
  }
  const { raw, isConnected } = await readClient(client, file).catch((cause: unknown) => {
    if (!record || !(cause instanceof ToolcribError)) throw cause
    const { before } = recordFiles(client, path, place)
    throw invalid(`${cause.message}; correct it, or copy ${before} over it`, cause)
  })
  if (!isConnected && !record) return undefined
  const { set } = await loadFormat(path)
  let after = text ?? ''
  if (isConnected) after = set(after, [...format.servers, ENTRY_NAME], undefined)
  const missing = Object.entries(record?.removed ?? {}).filter(([name]) => !raw.has(name))
  for (const [name, server] of missing) after = set(after, [...format.servers, name], server)
  return toChange({
    client,
    title,
    path,
    before: text,
    after,
    moved: missing.map(([name]) => name),
    kept: [],
    ...made,
  })
}

/**
 * Makes the change, and forgets the connection. Throws `config-invalid` if the config has changed since it was planned.
 */
export async function applyDisconnect(change: ClientChange, place: ClientPlace): Promise<void> {
  const { client, path, before, after, isExact } = change
  const files = recordFiles(client, path, place)
  if ((await readText(path)) !== before) throw invalid(`${path} changed in the meantime; try again`)
  if (after === undefined) await rm(path, { force: true })
  // Bytes, because decoding to text may lose some.
  else await replaceText(path, isExact ? ((await readBytes(files.before)) ?? after) : after)
  await Promise.all([rm(files.record, { force: true }), rm(files.before, { force: true })])
}

async function toChange(
  change: Omit<ClientChange, 'diff' | 'isExact' | 'namesakes'> &
    Partial<Pick<ClientChange, 'isExact' | 'namesakes'>>,
): Promise<ClientChange> {
  const mask = (text: string) => maskSecrets(text, () => '•••')
  const { layOut = same } = await loadFormat(change.path)
  const texts = [change.before ?? '', change.after ?? ''] as const
  const isLong = texts.some((text) => text.split('\n').some((line) => line.length > MAX_LINE))
  const [before, after] = isLong ? texts.map(layOut) : texts
  const diff = diffLines(before ?? '', after ?? '')
  return {
    isExact: false,
    namesakes: [],
    ...change,
    diff: diff.map((line) => ({ ...line, text: mask(line.text) })),
  }
}

/** A change in a longer line is hard to see. */
const MAX_LINE = 100

function same(text: string): string {
  return text
}

function recordFiles(client: string, path: string, { env }: ClientPlace): { record: string; before: string } {
  const state = stateDirectory(env)
  if (state === undefined) throw invalid('there is no folder for backups; set HOME')
  const key = `${client}-${digestOf(path).slice(0, 8)}`
  return { record: join(state, 'clients', `${key}.json`), before: join(state, 'clients', `${key}.before`) }
}

async function readRecord(path: string): Promise<ConnectionRecord | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(`${path} is damaged; the old config is beside it`, cause)
  }
}

async function readBytes(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch(() => undefined)
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
