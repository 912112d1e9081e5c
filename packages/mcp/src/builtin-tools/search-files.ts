import type { Tool } from '@toolcrib/core'
import { CapabilityError, defineTool, type FileAccess, ToolcribError } from '@toolcrib/core'
import {
  type BoundedPattern,
  clipText,
  compilePattern,
  describeError,
  WorkBudget,
} from '@toolcrib/core/internal'
import { answering, granted, invalid, success } from './answering.ts'
import { isBinary } from './file-text.ts'
import { globTest } from './glob.ts'
import { type WalkedFile, walkFiles } from './walk-files.ts'

const MAX_PATTERN_LENGTH = 500
const MAX_LINE_LENGTH = 300
/** Larger files are usually data; they are counted but not searched. */
const MAX_FILE_BYTES = 2 * 1024 * 1024
const BATCH = 16
/** Maximum bytes that one search reads in total. */
const MAX_TOTAL_BYTES = 256 * 1024 * 1024
/** How many files may exceed the work budget before the search stops. */
const MAX_COSTLY_FILES = 3
/** After this much work on one file, the search yields to other tasks. */
const LONG_WORK = 1_000_000

/** `search_files`: searches text in files. */
export function searchFilesTool(): Tool {
  return defineTool({
    name: 'search_files',
    title: 'Search in files',
    description:
      'Searches the content of text files for a regular expression (no lookaround or backreferences), in a ' +
      'directory and its subdirectories, and returns matching lines as path:line: text. Skips binary files, .git and node_modules.',
    inputSchema: {
      type: 'object',
      properties: {
        pattern: {
          type: 'string',
          minLength: 1,
          description: 'The regular expression, matched line by line',
        },
        path: {
          type: 'string',
          minLength: 1,
          description: 'The directory or file to search; defaults to the base directory',
        },
        glob: {
          type: 'string',
          minLength: 1,
          description: 'Search only files that match this glob, e.g. *.ts',
        },
        ignoreCase: { type: 'boolean', description: 'Ignore case; false by default' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          description: 'Maximum number of lines to return; 100 by default',
        },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'files',
    searchHint: 'grep rg ripgrep find text code regex usages occurrences in project',
    capabilities: { fs_reach: { read: ['*'] } },
    execute: answering(async ({ pattern, path = '.', glob, ignoreCase = false, limit = 100 }, ctx) => {
      const search = {
        files: granted(ctx, 'fs_reach'),
        start: path,
        pattern: compile(pattern, ignoreCase),
        isWanted: glob === undefined ? () => true : globTest(glob),
        limit,
      }
      const { lines, notes } = await searchFiles(search, ctx.signal)
      if (lines.length === 0) lines.push(`No line matches ${pattern} in "${path}".`)
      return success([...lines, ...notes].join('\n'))
    }),
  })
}

function compile(source: string, ignoreCase: boolean): BoundedPattern {
  try {
    return compilePattern(source, { ignoreCase, multiline: true, maxLength: MAX_PATTERN_LENGTH })
  } catch (cause) {
    throw invalid(describeError(cause), { cause })
  }
}

interface Search {
  readonly files: FileAccess
  readonly start: string
  readonly pattern: BoundedPattern
  readonly isWanted: (relative: string) => boolean
  readonly limit: number
}

async function searchFiles(
  search: Search,
  signal: AbortSignal,
): Promise<{ lines: string[]; notes: string[] }> {
  const { limit, pattern } = search
  const report: SearchReport = { isCut: false, skipped: 0, costly: 0 }
  const lines: string[] = []
  for await (const batch of batchesOf(filesToRead(search, signal, report))) {
    const contents = await Promise.all(batch.map((file) => readOrSkip(search.files, file.path)))
    for (const [index, { path }] of batch.entries()) {
      signal.throwIfAborted()
      const bytes = contents[index]
      if (bytes === undefined || isBinary(bytes)) continue
      const budget = new WorkBudget()
      const enough = limit + 1 - lines.length
      try {
        for (const { line, text } of matchingLines(new TextDecoder().decode(bytes), pattern, enough, budget))
          lines.push(`${path}:${line}: ${shorten(text)}`)
      } catch (thrown) {
        if (!(thrown instanceof ToolcribError)) throw thrown
        if (++report.costly > MAX_COSTLY_FILES) return { lines, notes: notesOf({ ...report, isCut: true }) }
      }
      if (lines.length > limit)
        return { lines: lines.slice(0, limit), notes: [`[only the first ${limit} lines; narrow the search]`] }
      if (WORK_OF_ONE_FILE - budget.left > LONG_WORK) await new Promise((resolve) => setTimeout(resolve))
    }
  }
  return { lines, notes: notesOf(report) }
}

/** Work budget per file. */
const WORK_OF_ONE_FILE = new WorkBudget().left

interface SearchReport {
  /** True when files were left out because the limits were reached. */
  isCut: boolean
  /** Files too large to search. */
  skipped: number
  /** Files that exceeded the pattern's work budget. */
  costly: number
}

function notesOf({ isCut, skipped, costly }: SearchReport): string[] {
  const notes = isCut ? ['[too many files to search them all; pass a deeper path or a glob]'] : []
  if (skipped > 0) notes.push(`[${skipped} files larger than 2 MiB were not searched]`)
  if (costly > 0) notes.push(`[the pattern was too expensive on ${costly} files; make it more specific]`)
  return notes
}

/** The files to read, until the size limit is reached. */
async function* filesToRead(
  search: Search,
  signal: AbortSignal,
  report: SearchReport,
): AsyncGenerator<WalkedFile> {
  let totalBytes = 0
  for await (const file of startingAt(search, signal, report)) {
    if (!search.isWanted(file.relative)) continue
    if (file.size > MAX_FILE_BYTES) {
      report.skipped++
      continue
    }
    totalBytes += file.size
    if (totalBytes > MAX_TOTAL_BYTES) {
      report.isCut = true
      return
    }
    yield file
  }
}

/** Reads a few files at a time, so that disk access overlaps with searching. */
async function* batchesOf(files: AsyncIterable<WalkedFile>): AsyncGenerator<WalkedFile[]> {
  let batch: WalkedFile[] = []
  for await (const file of files) {
    batch.push(file)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** The files below a directory, or the given file itself. */
async function* startingAt(
  { files, start }: Search,
  signal: AbortSignal,
  report: { isCut: boolean },
): AsyncGenerator<WalkedFile> {
  const info = await files.stat(start)
  if (info?.kind === 'file') yield { path: start, relative: info.name, size: info.size }
  else yield* walkFiles(files, start, signal, report)
}

/** A file that cannot be read, or has been deleted meanwhile, is skipped. */
async function readOrSkip(files: FileAccess, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.readFile(path)
  } catch (thrown) {
    if (thrown instanceof CapabilityError && thrown.code !== 'cancelled') return undefined
    throw thrown
  }
}

function* matchingLines(
  text: string,
  pattern: BoundedPattern,
  limit: number,
  budget: WorkBudget,
): Generator<{ line: number; text: string }> {
  const plain = text.includes('\r') ? text.replaceAll('\r\n', '\n') : text
  // Most files contain no match, and testing the whole text once is cheaper than testing each line.
  if (!pattern.test(plain, budget)) return
  let found = 0
  for (const [index, line] of plain.split('\n').entries()) {
    if (!pattern.test(line, budget)) continue
    yield { line: index + 1, text: line }
    if (++found === limit) return
  }
}

function shorten(line: string): string {
  return clipText(line.trim(), MAX_LINE_LENGTH)
}
