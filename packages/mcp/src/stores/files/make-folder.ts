import * as platform from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Disk } from './disk.ts'
import { errnoOf } from './errno.ts'

/**
 * Creates a folder and its missing parents; an existing folder is left unchanged. Rejects if no folder can be created:
 * Node's own `recursive: true` never returns in folders such as /proc.
 *
 * @example
 * ```ts
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { makeFolder } from 'toolcrib/stores'
 *
 * await makeFolder(join(tmpdir(), 'my-agent', 'state'), { mode: 0o700 })
 * ```
 */
export async function makeFolder(
  path: string,
  options: { readonly mode: number },
  disk: Disk = platform,
): Promise<void> {
  if (await isMade(path, options, disk)) return
  const parent = dirname(path)
  if (parent !== path) await makeFolder(parent, options, disk)
  await disk.mkdir(path, options).catch(ignoreExisting)
}

/** False if its parent is missing. */
async function isMade(path: string, options: { readonly mode: number }, disk: Disk): Promise<boolean> {
  try {
    await disk.mkdir(path, options).catch(ignoreExisting)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}

function ignoreExisting(error: unknown): void {
  if (errnoOf(error) !== 'EEXIST') throw error
}
