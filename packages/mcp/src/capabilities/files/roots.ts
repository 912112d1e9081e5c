import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'

/**
 * A tool's real roots: the declared paths intersected with the granted ones. `*` means everything granted; of
 * two nested directories, the inner one is used. Roots that do not exist grant nothing.
 */
export async function grantedRoots(
  declared: readonly string[],
  granted: readonly string[],
  base: string,
): Promise<string[]> {
  const hostRoots = await realRoots(granted, base)
  if (declared.includes('*')) return hostRoots
  const toolRoots = await realRoots(declared, base)
  const common = toolRoots.flatMap((toolRoot) => hostRoots.flatMap((hostRoot) => inner(toolRoot, hostRoot)))
  return [...new Set(common)]
}

async function realRoots(paths: readonly string[], base: string): Promise<string[]> {
  const targets = await Promise.all(paths.map((path) => realTarget(resolve(base, path))))
  return targets.filter((target) => !target.isMissing).map((target) => target.real)
}

function inner(first: string, second: string): string[] {
  if (isWithin(first, second)) return [first]
  return isWithin(second, first) ? [second] : []
}

/**
 * True for the root itself and everything below it. Both must be real paths, so that case and links do not matter.
 */
export function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

/**
 * Resolves a path to its real target. A path that does not exist yet is resolved from its nearest existing parent.
 */
export async function realTarget(path: string): Promise<{ real: string; isMissing: boolean }> {
  try {
    return { real: await realpath(path), isMissing: false }
  } catch (thrown) {
    if (!isMissingError(thrown) || dirname(path) === path) throw thrown
  }
  const parent = await realTarget(dirname(path))
  return { real: join(parent.real, basename(path)), isMissing: true }
}

/** True for the system error that means that a path does not exist. */
export function isMissingError(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** The code of an operating system error, such as `EEXIST`. */
export function systemCode(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined
  return typeof thrown.code === 'string' ? thrown.code : undefined
}
