import { writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { type CallResult, type ContentBlock, ToolcribError } from 'toolcrib'
import type { Terminal } from '../terminal.ts'

/**
 * Writes what a call returned to the file of `--out`: images, audio and other binary content as bytes, several of them to
 * numbered files; the text where there is nothing else. Returns the paths. Throws `config-invalid` for a file that cannot be
 * written.
 */
export async function writeOut(
  { cwd }: Terminal,
  { result }: CallResult,
  { out }: { readonly out?: string },
): Promise<string[]> {
  if (out === undefined || !result.ok) return []
  const blobs = (result.content ?? []).flatMap(bytesOf)
  const parts = blobs.length > 0 ? blobs : [Buffer.from(result.value)]
  const path = resolve(cwd, out)
  const paths = parts.map((_, at) => (parts.length === 1 ? path : numbered(path, at + 1)))
  for (const [at, part] of parts.entries())
    await writeFile(paths[at] ?? path, part).catch((cause: Error) => {
      throw new ToolcribError('config-invalid', `${paths[at]} cannot be written: ${cause.message}`, { cause })
    })
  return paths
}

function bytesOf(block: ContentBlock): Buffer[] {
  if (block.type === 'image' || block.type === 'audio') return [Buffer.from(block.data, 'base64')]
  const blob = block.type === 'resource' ? block.resource.blob : undefined
  return blob === undefined ? [] : [Buffer.from(blob, 'base64')]
}

/** `picture.png` → `picture-2.png` */
function numbered(path: string, count: number): string {
  const extension = extname(path)
  return `${path.slice(0, path.length - extension.length)}-${count}${extension}`
}
