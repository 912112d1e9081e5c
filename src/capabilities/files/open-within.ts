import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CapabilityError } from '../../capability.ts'
import { isWithin, realTarget, systemCode } from './roots.ts'

/** Something open below a root, with the real path it was opened by. Close the handle. */
export interface Opened {
  readonly handle: FileHandle
  readonly real: string
}

/**
 * Opens what a path leads to, if that lies below one of the real roots. The answer is checked on the open handle:
 * whatever is swapped for a link between the check and the use, the handle either is below a root or is refused.
 */
export async function openWithin(path: string, roots: readonly string[], flags: number): Promise<Opened> {
  return openReal(await realPathWithin(path, roots), roots, flags)
}

/** Like `openWithin`, for a path that `realPathWithin` has just returned. */
export async function openReal(real: string, roots: readonly string[], flags: number): Promise<Opened> {
  // Without blocking, so that a pipe that lies in wait cannot hold the call.
  const handle = await open(real, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await checkHandle(handle, real, roots)
    return { handle, real }
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

/** Opens a directory below a root; with `create`, missing ones are made on the way, each inside its checked parent. */
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

/** The real path a path leads to, refused when it is not below a root, before an error could reveal anything about it. */
export async function realPathWithin(path: string, roots: readonly string[]): Promise<string> {
  const { real, isMissing } = await realTarget(path)
  if (!roots.some((root) => isWithin(real, root))) throw outside(path, roots)
  if (isMissing) throw Object.assign(new Error(`nothing at ${path}`), { code: 'ENOENT' })
  return real
}

/**
 * A path for a name in an open directory. On Linux it goes through the handle, so that it means that directory even
 * if another one has taken its place; elsewhere it is the real path.
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
  // Without /proc: what the path leads to now must be what was opened, and still be where it was.
  const [now, there, here] = await Promise.all([realpath(real), stat(real), handle.stat()])
  if (now !== real || there.dev !== here.dev || there.ino !== here.ino) throw outside(real, roots)
}

function outside(path: string, roots: readonly string[]): CapabilityError {
  return new CapabilityError(
    'denied',
    `"${path}" is outside of what this tool may reach; stay below ${roots.join(', ')}`,
  )
}
