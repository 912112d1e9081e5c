import { CapabilityError, type FileAccess } from '../capability.ts'

/** Directories nobody means when they search a project. */
const SKIPPED = new Set(['.git', 'node_modules'])
/** The most entries one walk looks at. */
const MAX_ENTRIES = 100_000

export interface WalkedFile {
  /** The path as a tool takes it: the start that was asked for, and the way from there. */
  readonly path: string
  /** The way from the start, with slashes. */
  readonly relative: string
  readonly size: number
}

/** What a walk could not see. */
export interface WalkReport {
  /** True when the walk ended before everything was seen. */
  isCut: boolean
}

/**
 * The files below a directory, by name, without `.git` and `node_modules`. Links are not followed, so a walk ends.
 * Directories that cannot be read are passed over, except the first.
 */
export async function* walkFiles(
  files: FileAccess,
  start: string,
  signal: AbortSignal,
  report: WalkReport = { isCut: false },
): AsyncGenerator<WalkedFile> {
  // Directories still to be read, the next one last.
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
