import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CapabilityError } from '@toolcrib/core'
import { isWithin, realTarget, systemCode } from './roots.ts'

/** An open file or directory below a root, with the real path used to open it. The caller closes the handle. */
export interface Opened {
  readonly handle: FileHandle
  readonly real: string
}

/**
 * Opens the target of a path if it lies below one of the real roots. The check is made on the open handle, so
 * swapping the target for a link between check and use cannot escape the roots.
 */
export async function openWithin(path: string, roots: readonly string[], flags: number): Promise<Opened> {
  return openReal(await realPathWithin(path, roots), roots, flags)
}

/** Like `openWithin`, for a path just returned by `realPathWithin`. */
export async function openReal(real: string, roots: readonly string[], flags: number): Promise<Opened> {
  // Non-blocking, so that opening a named pipe cannot hang the call.
  const handle = await open(real, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await checkHandle(handle, real, roots)
    return { handle, real }
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

/** Opens a directory below a root. With `create`, creates missing directories, each inside its verified parent. */
export async function openDirectoryWithin(
  path: string,
  roots: readonly string[],
  { create = false }: { create?: boolean } = {},
): Promise<Opened> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY
  try {
    return await openWithin(path, roots, flags)
  } catch (thrown) {
    if (!create || systemCode(thrown) !== 'ENOENT') throw thrown
  }
  const parent = await openDirectoryWithin(dirname(path), roots, { create })
  try {
    await mkdir(pathInside(parent, basename(path)))
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown
  } finally {
    await parent.handle.close()
  }
  return openWithin(path, roots, flags)
}

/** The real path of a target. Throws if it is not below a root, before any error could reveal whether it exists. */
export async function realPathWithin(path: string, roots: readonly string[]): Promise<string> {
  const { real, isMissing } = await realTarget(path)
  if (!roots.some((root) => isWithin(real, root))) throw outside(path, roots)
  if (isMissing) throw Object.assign(new Error(`${path} does not exist`), { code: 'ENOENT' })
  return real
}

/**
 * A path for a name in an open directory. On Linux the path goes through the handle, so it refers to the same
 * directory even if another one has replaced it; elsewhere it is the real path.
 */
export function pathInside(directory: Opened, name: string): string {
  return join(pathOfHandle(directory), name)
}

/** A path for the open directory itself. */
export function pathOfHandle({ handle, real }: Opened): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : real
}

async function checkHandle(handle: FileHandle, real: string, roots: readonly string[]): Promise<void> {
  const opened = process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`) : real
  if (!roots.some((root) => isWithin(opened, root))) throw outside(real, roots)
  if (process.platform === 'linux') return
  // Without /proc: the path must still resolve to the opened file, at the same location.
  const [now, there, here] = await Promise.all([realpath(real), stat(real), handle.stat()])
  if (now !== real || there.dev !== here.dev || there.ino !== here.ino) throw outside(real, roots)
}

function outside(path: string, roots: readonly string[]): CapabilityError {
  return new CapabilityError(
    'denied',
    `"${path}" is outside the directories this tool may access; use a path below ${roots.join(', ')}`,
  )
}
