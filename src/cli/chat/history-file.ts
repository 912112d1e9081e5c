import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The lines of earlier chats, newest first; none when they cannot be read. */
export async function readHistory(path: string, limit = 500): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.slice(-limit).reverse()
}

/** Saves a line for later chats, readable by this user only. Failures are ignored. */
export async function keepLine(path: string, line: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await appendFile(path, `${line.replaceAll('\n', ' ')}\n`, { mode: 0o600 })
  } catch {
    // The chat works without history, for example with a read-only home folder.
  }
}
