import type { Tool } from '@toolcrib/core'
import { defineTool } from '@toolcrib/core'
import { answering, granted, success } from './answering.ts'

/** `write_file`: creates a file or replaces its whole content. */
export function writeFileTool(): Tool {
  return defineTool({
    name: 'write_file',
    title: 'Write a file',
    description:
      'Writes a text file: creates it, including missing directories, or replaces its whole content. ' +
      'To change part of an existing file use edit_file.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file to write' },
        content: { type: 'string', description: 'The complete new content' },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    toolset: 'files',
    searchHint: 'create save store new file overwrite text to disk',
    capabilities: { fs_reach: { write: ['*'] } },
    execute: answering(async ({ path, content }, ctx) => {
      const bytes = new TextEncoder().encode(content)
      await granted(ctx, 'fs_reach').writeFile(path, bytes)
      return success(`Wrote ${bytes.byteLength} bytes to ${path}.`)
    }),
  })
}
