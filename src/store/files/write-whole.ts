import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

/**
 * Replaces a file whole or not at all: every reader sees the old content or the new, even when this process is killed or
 * the power fails. The file gets the given mode, whatever it had before.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  options: { readonly mode: number },
): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    await writeNew(draft, content, options)
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Writes a file that must not exist yet, and waits until its content is on the disk. A failure leaves no file behind. */
export async function writeNew(
  path: string,
  content: string | Uint8Array,
  { mode }: { readonly mode: number },
): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(content)
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}
