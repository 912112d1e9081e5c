import { access, constants, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { type CallResult, type ContentBlock, ToolcribError } from '@toolcrib/core'
import type { Terminal } from '../terminal/terminal.ts'
import { UsageError } from '../terminal/usage-error.ts'

/** Throws `UsageError` for an `--out` that cannot be written: found out after the call, its result would be lost. */
export async function requireWritable({ cwd }: Terminal, { out }: { readonly out?: string }): Promise<void> {
  if (out === undefined) return
  const path = resolve(cwd, out)
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) throw new UsageError(`--out ${out} is a folder; name a file in it`)
  await access(found === undefined ? dirname(path) : path, constants.W_OK).catch((cause: Error) => {
    throw new UsageError(`--out ${out} cannot be written: ${cause.message}`, { cause })
  })
}

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
