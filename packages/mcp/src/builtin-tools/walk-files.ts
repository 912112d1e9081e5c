import { CapabilityError, type FileAccess } from '@toolcrib/core'

/** Directories that are never searched. */
const SKIPPED = new Set(['.git', 'node_modules'])
/** Maximum entries that one walk visits. */
const MAX_ENTRIES = 100_000

export interface WalkedFile {
  /** The path to pass to a tool: the requested start plus the relative path. */
  readonly path: string
  /** The path relative to the start, with slashes. */
  readonly relative: string
  readonly size: number
}

/** What a walk left out. */
export interface WalkReport {
  /** True when the walk stopped before visiting everything. */
  isCut: boolean
}

/**
 * The files below a directory, sorted by name, without `.git` and `node_modules`. Links are not followed, so the walk
 * terminates. Unreadable directories are skipped, except the first.
 */
export async function* walkFiles(
  files: FileAccess,
  start: string,
  signal: AbortSignal,
  report: WalkReport = { isCut: false },
): AsyncGenerator<WalkedFile> {
  // Directories still to read, the next one last.
  const pending = ['']
  let seen = 0
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    signal.throwIfAborted()
    const below: string[] = []
    for (const { name, kind, size } of await listOrSkip(files, join(start, directory), directory === '')) {
      const relative = directory === '' ? name : `${directory}/${name}`
      if (++seen > MAX_ENTRIES) {
        report.isCut = true
        return
      }
      if (kind === 'directory' && !SKIPPED.has(name)) below.push(relative)
      if (kind === 'file') yield { path: join(start, relative), relative, size }
    }
    pending.push(...below.reverse())
  }
}

async function listOrSkip(files: FileAccess, path: string, isFirst: boolean) {
  try {
    return await files.list(path)
  } catch (thrown) {
    const isPassedOver = !isFirst && thrown instanceof CapabilityError && thrown.code !== 'cancelled'
    if (isPassedOver) return []
    throw thrown
  }
}

function join(start: string, relative: string): string {
  if (relative === '') return start
  if (start === '.') return relative
  return start.endsWith('/') ? start + relative : `${start}/${relative}`
}
