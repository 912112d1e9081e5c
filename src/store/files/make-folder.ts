import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder, with those above it that are missing; one that is there already is left as it is. Where none can be
 * made it rejects: Node's own way of doing this asks for ever in folders such as /proc.
 */
export async function makeFolder(path: string, options: { readonly mode: number }): Promise<void> {
  if (await isMade(path, options)) return
  const parent = dirname(path)
  if (parent !== path) await makeFolder(parent, options)
  await mkdir(path, options).catch(ignoreExisting)
}

/** False when what it would lie in is missing. */
async function isMade(path: string, options: { readonly mode: number }): Promise<boolean> {
  try {
    await mkdir(path, options).catch(ignoreExisting)
    return true
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    return false
  }
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
