import { RE2JS } from 're2js'
import { defineTool } from '../authoring/define-tool.ts'
import { CapabilityError, type FileAccess } from '../capability.ts'
import { describeError } from '../errors.ts'
import { clipText } from '../text.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, invalid, success } from './answering.ts'
import { isBinary } from './file-text.ts'
import { globTest } from './glob.ts'
import { type WalkedFile, walkFiles } from './walk-files.ts'

const MAX_PATTERN_LENGTH = 500
const MAX_LINE_LENGTH = 300
/** Larger files are data rather than text that someone wrote; they are counted, not searched. */
const MAX_FILE_BYTES = 2 * 1024 * 1024
const BATCH = 16
/** What one search reads in all. */
const MAX_TOTAL_BYTES = 256 * 1024 * 1024

/** `search_files`: text inside of files. */
export function searchFilesTool(): Tool {
  return defineTool({
    name: 'search_files',
    title: 'Search in files',
    description:
      'Searches the content of text files for a regular expression (RE2 syntax, no lookaround or backreferences), in a ' +
      'directory and everything below it, and answers with lines as path:line: text. Skips binary files, .git and node_modules.',
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
          description: 'A directory or a file; the base directory by default',
        },
        glob: { type: 'string', minLength: 1, description: 'Only files that match this glob, e.g. *.ts' },
        ignoreCase: { type: 'boolean', description: 'Treat upper and lower case alike; false by default' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          description: 'The most lines to answer with; 100',
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

function compile(pattern: string, ignoreCase: boolean): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw invalid(`the pattern has ${pattern.length} characters; shorten it to ${MAX_PATTERN_LENGTH}`)
  }
  try {
    return RE2JS.compile(pattern, RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0))
  } catch (cause) {
    const reason = describeError(cause)
    throw invalid(`/${pattern}/ is not a pattern: ${reason}; escape what is meant literally with \\`, {
      cause,
    })
  }
}

interface Search {
  readonly files: FileAccess
  readonly start: string
  readonly pattern: RE2JS
  readonly isWanted: (relative: string) => boolean
  readonly limit: number
}

async function searchFiles(
  search: Search,
  signal: AbortSignal,
): Promise<{ lines: string[]; notes: string[] }> {
  const { limit, pattern } = search
  const report = { isCut: false, skipped: 0 }
  const lines: string[] = []
  for await (const batch of batchesOf(filesToRead(search, signal, report))) {
    const contents = await Promise.all(batch.map((file) => readOrSkip(search.files, file.path)))
    for (const [index, { path }] of batch.entries()) {
      signal.throwIfAborted()
      const bytes = contents[index]
      if (bytes === undefined || isBinary(bytes)) continue
      matchingLines(new TextDecoder().decode(bytes), pattern, limit + 1 - lines.length, (line, text) => {
        lines.push(`${path}:${line}: ${shorten(text)}`)
      })
      if (lines.length <= limit) continue
      return { lines: lines.slice(0, limit), notes: [`[only the first ${limit} lines; narrow the search]`] }
    }
  }
  const notes = report.isCut ? ['[too much to search all of it; start further down or give a glob]'] : []
  if (report.skipped > 0) notes.push(`[${report.skipped} files larger than 2 MiB were not searched]`)
  return { lines, notes }
}

/** The files worth reading, until they are too much in all. */
async function* filesToRead(
  search: Search,
  signal: AbortSignal,
  report: { isCut: boolean; skipped: number },
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

/** Files are read a few at a time: the disk is asked for the next while the last is on its way. */
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

/** The files below a directory, or the one file that was named. */
async function* startingAt(
  { files, start }: Search,
  signal: AbortSignal,
  report: { isCut: boolean },
): AsyncGenerator<WalkedFile> {
  const info = await files.stat(start)
  if (info?.kind === 'file') yield { path: start, relative: info.name, size: info.size }
  else yield* walkFiles(files, start, signal, report)
}

/** A file that cannot be read, or has gone meanwhile, does not end the search. */
async function readOrSkip(files: FileAccess, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.readFile(path)
  } catch (thrown) {
    if (thrown instanceof CapabilityError && thrown.code !== 'cancelled') return undefined
    throw thrown
  }
}

function matchingLines(
  text: string,
  pattern: RE2JS,
  limit: number,
  onMatch: (line: number, text: string) => void,
): void {
  const plain = text.includes('\r') ? text.replaceAll('\r\n', '\n') : text
  // Most files hold no match: one test of the whole is cheaper than one for each line.
  if (!pattern.test(plain)) return
  let found = 0
  for (const [index, line] of plain.split('\n').entries()) {
    if (!pattern.test(line)) continue
    onMatch(index + 1, line)
    if (++found === limit) return
  }
}

function shorten(line: string): string {
  return clipText(line.trim(), MAX_LINE_LENGTH)
}
