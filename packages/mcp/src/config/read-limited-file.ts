import { open } from 'node:fs/promises'

const CHUNK_BYTES = 64 * 1024

/**
 * Reads a text file of at most `maxBytes`, without reading more than that from a larger or endless file. Rejects like
 * `readFile()`, and with a `RangeError` for a larger file.
 */
export async function readLimitedFile(path: string, maxBytes: number): Promise<string> {
  return (await readLimitedBytes(path, maxBytes)).toString('utf8')
}

/** Like `readLimitedFile()`, for a file of any content. */
export async function readLimitedBytes(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const chunks: Uint8Array[] = []
    let size = 0
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES)
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES)
      if (bytesRead === 0) return Buffer.concat(chunks)
      size += bytesRead
      if (size > maxBytes) throw new RangeError(`it is larger than ${maxBytes / 1024 / 1024} MiB`)
      chunks.push(chunk.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}
