import { randomUUID } from 'node:crypto'
import * as platform from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Disk } from './disk.ts'
import { unlessMissing } from './errno.ts'

/**
 * Replaces a file atomically: every reader sees the old content or the new, even if this process is killed or the power
 * fails. An existing file keeps its mode; a new one gets the given mode, minus the umask. A symbolic link is replaced,
 * not followed.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { mode }: { readonly mode: number },
): Promise<void> {
  const present = await unlessMissing(platform.lstat(path))
  const ownMode = present?.isFile() ? present.mode & 0o777 : undefined
  // Beside the file, on the same disk; the file's own name may already have the maximum length.
  const draft = join(dirname(path), `.toolcrib-${randomUUID()}.tmp`)
  try {
    await writeNew(draft, content, { mode, ownMode })
    await platform.rename(draft, path)
  } finally {
    await platform.rm(draft, { force: true })
  }
}

/** Writes a file that must not exist yet, and waits until its content is on the disk. A failure leaves no file. */
export async function writeNew(
  path: string,
  content: string | Uint8Array,
  {
    mode,
    ownMode,
  }: { readonly mode: number /** Set whatever the umask. */; readonly ownMode?: number | undefined },
  disk: Disk = platform,
): Promise<void> {
  const file = await disk.open(path, 'wx', mode)
  try {
    if (ownMode !== undefined) await file.chmod(ownMode)
    await file.writeFile(content)
    await file.sync()
  } catch (error) {
    await disk.rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}
