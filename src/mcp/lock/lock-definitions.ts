import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { isRecord } from '../../json.ts'
import { writeWhole } from '../../store/files/write-whole.ts'
import { readLimitedBytes } from '../config/read-limited-file.ts'
import { DEFINITION_FIELDS, isTooDeep, type LockedDefinition } from './definition.ts'
import type { Lockfile } from './lockfile.ts'
import { escapeHidden, inOrder, sorted } from './lockfile-text.ts'

const [compress, decompress] = [promisify(gzip), promisify(gunzip)]

/** Enough for tens of thousands of tools, before and after compression. */
const MAX_BYTES = 64 * 1024 * 1024
/** The maximum depth of a definition, below its server and name. */
const MAX_DEPTH = 210

/** Returns the path of the definitions that a lockfile approves: beside it, compressed. */
export function definitionsPath(lockfilePath: string): string {
  return `${lockfilePath}.gz`
}

/**
 * Reads the definitions of a lockfile, by server and tool. They are not trusted, but compared with the lockfile's
 * hashes. Returns an empty record for a missing or damaged file: only `before` of a difference is lost.
 */
export async function readDefinitions(lockfilePath: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const data: unknown = JSON.parse(await readText(lockfilePath))
    return isRecord(data) && !isTooDeep(data, MAX_DEPTH) ? data : {}
  } catch {
    return {}
  }
}

/** Writes the definitions of a lockfile, unless they are the same: compressed bytes may differ between machines. */
export async function saveDefinitions(lockfilePath: string, lockfile: Lockfile): Promise<void> {
  const text = writeDefinitions(lockfile)
  if ((await readText(lockfilePath).catch(() => undefined)) === text) return
  await writeWhole(definitionsPath(lockfilePath), await compress(text), { mode: 0o644 })
}

/**
 * The text of a file of definitions: names in order, one field per line, descriptions line by line, and hidden
 * characters as escapes, so that a difference between two of them can be read.
 */
export function writeDefinitions({ servers }: Lockfile): string {
  const data = sorted(servers, ({ tools }) => {
    const known = [...tools].flatMap(([name, { definition }]) =>
      definition ? [[name, definition] as const] : [],
    )
    return sorted(new Map(known), definitionData)
  })
  return `${escapeHidden(JSON.stringify(data, null, 2))}\n`
}

async function readText(lockfilePath: string): Promise<string> {
  const bytes = await readLimitedBytes(definitionsPath(lockfilePath), MAX_BYTES)
  return (await decompress(bytes, { maxOutputLength: MAX_BYTES })).toString('utf8')
}

function definitionData(definition: LockedDefinition): Record<string, unknown> {
  const { description } = definition
  const fields = DEFINITION_FIELDS.filter((field) => definition[field] !== undefined)
  return {
    ...Object.fromEntries(fields.map((field) => [field, inOrder(definition[field])])),
    ...(description.includes('\n') ? { description: description.split('\n') } : {}),
  }
}
