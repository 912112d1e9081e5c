import type { FileInfo, Tool } from '@toolcrib/core'
import { defineTool } from '@toolcrib/core'
import { answering, granted, success } from './answering.ts'

/** `list_directory`: lists one directory. */
export function listDirectoryTool(): Tool {
  return defineTool({
    name: 'list_directory',
    title: 'List a directory',
    description:
      'Lists the files and directories in one directory, one per line: directories end with a slash, links with an @, ' +
      'and files show their size in bytes.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The directory; defaults to the base directory' },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'files',
    searchHint: 'ls dir folder contents what files are here',
    capabilities: { fs_reach: { read: ['*'] } },
    execute: answering(async ({ path = '.' }, ctx) => {
      const entries = await granted(ctx, 'fs_reach').list(path)
      if (entries.length === 0) return success('(empty)', [])
      const structured = entries.map(({ name, kind, size }) => ({ name, kind, size }))
      return success(entries.map(describeEntry).join('\n'), structured)
    }),
  })
}

function describeEntry({ name, kind, size }: FileInfo): string {
  if (kind === 'directory') return `${name}/`
  if (kind === 'link') return `${name}@`
  return kind === 'file' ? `${name} (${size})` : `${name} (special)`
}
