import type { Tool, ToolResult } from '@toolcrib/core'
import { defineTool, readFileReducer } from '@toolcrib/core'
import { answering, failure, granted, success } from './answering.ts'
import { readText } from './file-text.ts'

/** `read_file`: reads a text file or a range of its lines. */
export function readFileTool(): Tool {
  return defineTool({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Reads a text file and returns its content. With lineStart and lineEnd it returns only those lines, ' +
      'counted from 1 and inclusive.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file to read' },
        lineStart: { type: 'integer', minimum: 1, description: 'First line to read; 1 by default' },
        lineEnd: {
          type: 'integer',
          minimum: 1,
          description: 'Last line to read; defaults to the end of the file',
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'files',
    searchHint: 'open view show cat print source code text file contents lines',
    capabilities: { fs_reach: { read: ['*'] } },
    reduce: readFileReducer().reduce,
    execute: answering(async ({ path, lineStart, lineEnd }, ctx) => {
      const text = readText(await granted(ctx, 'fs_reach').readFile(path), path)
      if (lineStart === undefined && lineEnd === undefined) return success(text)
      return linesOf(text, lineStart ?? 1, lineEnd)
    }),
  })
}

function linesOf(text: string, start: number, end: number | undefined): ToolResult {
  if (end !== undefined && end < start) {
    return failure(`lineEnd ${end} is before lineStart ${start}; swap the two`, 'input_invalid')
  }
  const lines = text.split('\n')
  const total = lines.at(-1) === '' ? lines.length - 1 : lines.length
  if (start > Math.max(total, 1)) {
    return failure(`the file has ${total} lines; lineStart ${start} is past the end`, 'input_invalid')
  }
  return success(lines.slice(start - 1, Math.min(end ?? total, total)).join('\n'))
}
