import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where a chain of lines ends: the number of its last line, and that line's hash. */
export interface ChainEnd {
  readonly seq: number
  readonly hash: string
}

/** The first line of a chain follows this. */
export const NO_LINE: ChainEnd = { seq: 0, hash: '0'.repeat(64) }

/** Each process writes a chain of its own, in files `<chain>.0001.jsonl`, `<chain>.0002.jsonl` … */
export function segmentName(chain: string, part: number): string {
  return `${chain}.${String(part).padStart(4, '0')}.jsonl`
}

/** The chains of a folder, the oldest first, each with its files in order. */
export function chainsIn(folder: string): Map<string, string[]> {
  const chains = new Map<string, string[]>()
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const [, chain] = /^([\w-]+)\.(?:\d{4,}\.jsonl|head)$/.exec(name) ?? []
    if (chain === undefined) continue
    const files = chains.get(chain) ?? []
    chains.set(chain, files)
    if (name.endsWith('.jsonl')) files.push(name)
  }
  return chains
}

/** The end of a chain as its writer noted it beside the lines, so that missing last lines show. */
export function readHead(folder: string, chain: string, key: string): ChainEnd | undefined {
  try {
    const text = readFileSync(headPath(folder, chain), 'utf8')
    const [seq, hash = ''] = text.split(' ')
    const end = { seq: Number(seq), hash }
    return text === sealHead(end, key) ? end : undefined
  } catch {
    return undefined
  }
}

/** Always of the same length, so that one overwrites the other. */
export function sealHead({ seq, hash }: ChainEnd, key: string): string {
  const text = `${String(seq).padStart(15, '0')} ${hash}`
  return `${text} ${hashOf(text, key)}\n`
}

export function headPath(folder: string, chain: string): string {
  return join(folder, `${chain}.head`)
}

/** The key of the folder's hashes, made on first use: without it, nobody can add a line that fits. */
export function keyOf(folder: string): string {
  const path = join(folder, 'key')
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const draft = `${path}-${randomBytes(4).toString('hex')}`
    try {
      writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600 })
      // Unlike renaming, this keeps the key of another process.
      linkSync(draft, path)
    } catch (error) {
      if (!existsSync(path)) throw error
    } finally {
      rmSync(draft, { force: true })
    }
  }
  return readFileSync(path, 'utf8')
}

/** A line with the hash of everything before it, which contains the hash of the line above. */
export function sealLine(entry: object, key: string): { readonly line: string; readonly hash: string } {
  // A client's text may have line breaks that JSON leaves as they are.
  const body = JSON.stringify(entry)
    .slice(0, -1)
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029')
  const hash = hashOf(body, key)
  return { line: `${body},"hash":"${hash}"}\n`, hash }
}

/** The hash of a line; undefined if it is not the one that the line ends with. */
export function checkLine(line: string, key: string): string | undefined {
  const [, body, hash] = /^(.*),"hash":"([0-9a-f]{64})"\}$/.exec(line) ?? []
  return body !== undefined && hashOf(body, key) === hash ? hash : undefined
}

function hashOf(body: string, key: string): string {
  return createHmac('sha256', key).update(body).digest('hex')
}
