import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { isRecord, sharedSlices } from '@toolcrib/core/internal'
import { readLimitedBytes } from '../config/read-limited-file.ts'
import { ITEM_KINDS } from '../listed/server-item.ts'
import { writeWhole } from '../stores/files/write-whole.ts'
import { isTooDeep } from './definition.ts'
import type { LockedItem } from './locked-item.ts'
import type { LockedTool, Lockfile } from './lockfile.ts'
import { definitionsKey, escapeHidden, inOrder, sorted, TEXTS } from './lockfile-text.ts'

const [compress, decompress] = [promisify(gzip), promisify(gunzip)]

/** Enough for tens of thousands of tools, before and after compression. */
const MAX_BYTES = 64 * 1024 * 1024
/** The maximum depth of a definition, below its server and name. */
const MAX_DEPTH = 210

/** Returns the path of the definitions that a lockfile approves: beside it, compressed. */
export function definitionsPath(lockfilePath: string): string {
  return `${lockfilePath}.gz`
}

/** The file of definitions as it is; empty if there is none. */
export function packedDefinitions(lockfilePath: string): Promise<Buffer> {
  return readLimitedBytes(definitionsPath(lockfilePath), MAX_BYTES).catch(() => Buffer.alloc(0))
}

/**
 * Reads the definitions of a lockfile: tools by server, everything else by `definitionsKey()`. They are not trusted, but compared with the lockfile's
 * hashes. Returns an empty record for a missing or damaged file: only `before` of a difference is lost.
 */
export async function readDefinitions(packed: Buffer): Promise<Readonly<Record<string, unknown>>> {
  try {
    const data: unknown = JSON.parse(await unpacked(packed))
    await sharedSlices.pause()
    return isRecord(data) && !isTooDeep(data, MAX_DEPTH) ? data : {}
  } catch {
    return {}
  }
}

/** Writes the definitions of a lockfile, unless they are the same: compressed bytes may differ between machines. */
export async function saveDefinitions(lockfilePath: string, lockfile: Lockfile): Promise<void> {
  const text = writeDefinitions(lockfile)
  const before = await packedDefinitions(lockfilePath)
  if ((await unpacked(before).catch(() => undefined)) === text) return
  await writeWhole(definitionsPath(lockfilePath), await compress(text), { mode: 0o644 })
}

/**
 * The text of a file of definitions: names in order, one field per line, descriptions line by line, and hidden
 * characters as escapes, so that a difference between two of them can be read.
 */
export function writeDefinitions({ servers }: Lockfile): string {
  const lists = [...servers].flatMap(([server, { tools, items }]): [string, Entries][] => [
    [server, tools],
    ...(items
      ? ITEM_KINDS.map((kind): [string, Entries] => [definitionsKey(server, kind), items[kind]])
      : []),
  ])
  const data = sorted(new Map(lists), (entries) => {
    const known = [...entries].flatMap(([name, { definition }]) =>
      definition ? [[name, definition] as const] : [],
    )
    return sorted(new Map<string, object>(known), definitionData)
  })
  return `${escapeHidden(JSON.stringify(data, null, 2))}\n`
}

type Entries = ReadonlyMap<string, LockedTool | LockedItem>

async function unpacked(packed: Buffer): Promise<string> {
  return (await decompress(packed, { maxOutputLength: MAX_BYTES })).toString('utf8')
}

function definitionData(definition: object): Record<string, unknown> {
  const fields = Object.entries(definition).map(([field, value]) => {
    const isLong = TEXTS.includes(field) && typeof value === 'string' && value.includes('\n')
    return [field, isLong ? value.split('\n') : inOrder(value)]
  })
  return Object.fromEntries(fields)
}
