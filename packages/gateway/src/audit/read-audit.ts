import { createReadStream, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isJson, type Json } from '../json-rpc.ts'
import { type ChainEnd, chainsIn, checkLine, keyOf, NO_LINE, readHead } from './audit-files.ts'
import type { AuditEntry } from './audit-log.ts'

/** A place where the record is not as it was written. */
export interface AuditFault {
  readonly file: string
  /** The number of the line in its file; absent for what is missing as a whole. */
  readonly line?: number
  readonly problem: string
}

/** What a check of the record found. */
export interface AuditCheck {
  /** The lines that were read. */
  readonly lines: number
  readonly faults: readonly AuditFault[]
}

/** The recorded calls of a folder, the oldest first; the latest `limit` of those since a time in milliseconds. */
export async function readAudit(
  directory: string,
  { since = 0, limit = Number.POSITIVE_INFINITY }: { readonly since?: number; readonly limit?: number } = {},
): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = []
  const files = [...chainsIn(directory).values()].flat().map((name) => {
    const path = join(directory, name)
    return { path, changedAt: statSync(path).mtimeMs }
  })
  for (const { path, changedAt } of files.sort((a, b) => b.changedAt - a.changedAt)) {
    if (changedAt < since || entries.length >= limit) break
    for await (const line of linesOf(path)) {
      const entry = parsed(line)
      if (typeof entry?.tool !== 'string' || Date.parse(String(entry.at)) < since) continue
      const { seq: _, prev: __, hash: ___, ...call } = entry
      entries.push(call as unknown as AuditEntry)
    }
  }
  entries.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return limit < entries.length ? entries.slice(-limit) : entries
}

/** Checks that no line was changed, added or removed: neither in a chain, nor at its ends, nor a whole chain. */
export async function verifyAudit(directory: string): Promise<AuditCheck> {
  const faults: AuditFault[] = []
  const chains = chainsIn(directory)
  if (chains.size === 0) return { lines: 0, faults }
  if (!existsSync(join(directory, 'key')))
    return { lines: 0, faults: [{ file: 'key', problem: 'is missing, so no line can be checked' }] }
  const key = keyOf(directory)
  /** The hash of each line by its number, for each chain. */
  const hashes = new Map<string, readonly string[]>()
  const expected: { readonly chain: string; readonly end: ChainEnd; readonly by: string }[] = []
  for (const [chain, files] of chains) {
    const known: string[] = [NO_LINE.hash]
    hashes.set(chain, known)
    for (const file of files) {
      let number = 0
      for await (const line of linesOf(join(directory, file))) {
        number++
        const entry = parsed(line)
        const hash = checkLine(line, key)
        const problem =
          entry === undefined || hash === undefined
            ? 'was changed or added'
            : entry.prev !== known.at(-1)
              ? 'does not follow the line above: lines were removed or moved'
              : known.length === 1 &&
                entry.chain !== chain &&
                'begins another chain: its file was renamed or copied'
        if (problem) faults.push({ file, line: number, problem })
        known.push(hash ?? String(entry?.hash))
        if (isJson(entry?.others))
          for (const [other, end] of Object.entries(entry.others))
            expected.push({ chain: other, end: end as ChainEnd, by: file })
      }
    }
    const head = readHead(directory, chain, key)
    if (head) expected.push({ chain, end: head, by: `${chain}.head` })
    else
      faults.push({
        file: `${chain}.head`,
        problem: 'is missing or was changed, so removed last lines would not show',
      })
  }
  for (const { chain, end, by } of expected) {
    if (hashes.get(chain)?.[end.seq] === end.hash) continue
    const file = chains.get(chain)?.at(-1) ?? chain
    const problem = `has lost its end: line ${end.seq} of the chain is not there, which ${by} names`
    if (!faults.some((fault) => fault.file === file && fault.line === undefined))
      faults.push({ file, problem })
  }
  const lines = [...hashes.values()].reduce((sum, known) => sum + known.length - 1, 0)
  return { lines, faults }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: 0 })) yield line
}

function parsed(line: string): Json | undefined {
  try {
    const entry: unknown = JSON.parse(line)
    return isJson(entry) ? entry : undefined
  } catch {
    return undefined
  }
}
