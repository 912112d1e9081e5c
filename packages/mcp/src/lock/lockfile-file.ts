import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import type { Config } from '../config/load-config.ts'
import { readLimitedFile } from '../config/read-limited-file.ts'
import { writeWhole } from '../stores/files/write-whole.ts'
import type { Lockfile } from './lockfile.ts'
import { whileAlone } from './while-alone.ts'

/** Enough for tens of thousands of tools. */
const MAX_LOCKFILE_BYTES = 64 * 1024 * 1024

/**
 * Returns the path of a config's lockfile: `toolcrib.lock` beside the config file with the highest precedence, or in
 * the project.
 */
export function lockfilePath({ files }: Pick<Config, 'files'>, cwd: string): string {
  const file = files.at(-1)
  return join(file === undefined ? cwd : dirname(file), 'toolcrib.lock')
}

/**
 * Reads a lockfile; returns undefined when it does not exist. Throws `config-invalid` when it cannot be read. With
 * `mustExist`, for a path that a user named, a missing file throws too: a typo must not disable the check.
 */
export function readLockfile(path: string, options: { readonly mustExist: true }): Promise<Lockfile>
export function readLockfile(
  path: string,
  options?: { readonly mustExist?: boolean },
): Promise<Lockfile | undefined>
export async function readLockfile(
  path: string,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<Lockfile | undefined> {
  let text: string
  try {
    text = await readLimitedFile(path, MAX_LOCKFILE_BYTES)
  } catch (cause) {
    const isAbsent = isMissing(cause)
    if (isAbsent && !mustExist) return undefined
    const reason = isAbsent
      ? `lockfile ${path} does not exist; correct the path, or write it with "toolcrib lock"`
      : `${path} cannot be read: ${describeError(cause)}`
    throw new ToolcribError('config-invalid', reason, { cause })
  }
  // Loaded with the first lockfile: most starts have none, and loading the parser takes longer than the rest.
  const { readLock } = await import('./lockfile-text.ts')
  const { packedDefinitions, readDefinitions } = await import('./lock-definitions.ts')
  const packed = await packedDefinitions(await realPathOf(path))
  const known = lastRead.get(path)
  if (known?.text === text && known.packed.equals(packed)) return known.lockfile
  const lockfile = await readLock(text, path, await readDefinitions(packed))
  lastRead.set(path, { text, packed, lockfile })
  return lockfile
}

/** A gateway reads the same lockfile again and again. */
const lastRead = new Map<string, { text: string; packed: Buffer; lockfile: Lockfile }>()

/**
 * Writes a lockfile atomically, and the definitions beside it. An existing file keeps its mode; a symbolic link stays a
 * link.
 */
export function writeLockfile(path: string, lockfile: Lockfile): Promise<void> {
  return alone(path, (checkAlone) => replace(path, lockfile, checkAlone))
}

/**
 * Replaces a lockfile with what `change` returns for its current content, undefined when it does not exist.
 * Concurrent updates, by any process, are not lost. Throws `config-invalid` when it is damaged or cannot be written.
 */
export function updateLockfile(
  path: string,
  change: (current: Lockfile | undefined) => Lockfile,
): Promise<void> {
  return alone(path, async (checkAlone) => replace(path, change(await readLockfile(path)), checkAlone))
}

async function alone(path: string, work: (checkAlone: () => Promise<void>) => Promise<void>): Promise<void> {
  try {
    await whileAlone(path, work)
  } catch (cause) {
    if (cause instanceof ToolcribError) throw cause
    throw new ToolcribError('config-invalid', `${path} cannot be written: ${describeError(cause)}`, { cause })
  }
}

async function replace(path: string, lockfile: Lockfile, checkAlone: () => Promise<void>): Promise<void> {
  const place = await realPathOf(path)
  const { writeLock } = await import('./lockfile-text.ts')
  const { saveDefinitions } = await import('./lock-definitions.ts')
  const text = writeLock(lockfile)
  await checkAlone()
  // First: a lockfile without its definitions would still be valid, but its changes could not be shown.
  await saveDefinitions(place, lockfile)
  await writeWhole(place, text, { mode: 0o644 })
}

/** The target of a link; the path itself if it does not exist. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (isMissing(error)) return path
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
