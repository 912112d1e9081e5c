import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describeError, ToolcribError } from '../../errors.ts'
import type { Config } from '../config/load-config.ts'
import type { Lockfile } from './lockfile.ts'
import { readLock, writeLock } from './lockfile-text.ts'

/** Where a config's lockfile is: `toolcrib.lock` beside the config file that counts most, or in the project. */
export function lockfilePath({ files }: Pick<Config, 'files'>, cwd: string): string {
  const file = files.at(-1)
  return join(file === undefined ? cwd : dirname(file), 'toolcrib.lock')
}

/** The lockfile, undefined when there is none; one that cannot be read is `config-invalid`, never ignored. */
export async function readLockfile(path: string): Promise<Lockfile | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new ToolcribError('config-invalid', `${path} cannot be read: ${describeError(cause)}`, { cause })
  }
  return readLock(text, path)
}

/** Writes a lockfile whole or not at all. */
export async function writeLockfile(path: string, lockfile: Lockfile): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, 'wx', 0o644)
    try {
      await file.writeFile(writeLock(lockfile))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (cause) {
    throw new ToolcribError('config-invalid', `${path} cannot be written: ${describeError(cause)}`, { cause })
  } finally {
    await rm(draft, { force: true })
  }
}
