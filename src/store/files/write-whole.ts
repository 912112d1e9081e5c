import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

/**
 * Writes a file whole or not at all: whoever reads it, and whatever ends this process, there is the old content or
 * the new one. It has the given mode, whatever it had before.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { mode }: { mode: number },
): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, 'wx', mode)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}
