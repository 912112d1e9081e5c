import type { Tool } from '@toolcrib/core'
import { defineTool } from '@toolcrib/core'
import { answering, granted, invalid, success } from './answering.ts'
import { readExactText } from './file-text.ts'

/** `edit_file`: replaces exact text in a file; the text must be unique unless `all` is set. */
export function editFileTool(): Tool {
  return defineTool({
    name: 'edit_file',
    title: 'Edit a file',
    description:
      'Replaces text in a file: oldText becomes newText. oldText must match the file exactly, including spaces and ' +
      'line breaks, and must occur only once unless all is true.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file to change' },
        oldText: { type: 'string', minLength: 1, description: 'The exact text to replace' },
        newText: { type: 'string', description: 'The replacement text' },
        all: { type: 'boolean', description: 'Replace every occurrence; false by default' },
      },
      required: ['path', 'oldText', 'newText'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    toolset: 'files',
    searchHint: 'modify change replace patch update part of source code file',
    capabilities: { fs_reach: { read: ['*'], write: ['*'] } },
    execute: answering(async ({ path, oldText, newText, all = false }, ctx) => {
      if (oldText === newText)
        throw invalid('oldText and newText are the same; pass the changed text in newText')
      let count = 0
      await granted(ctx, 'fs_reach').update(path, (data) => {
        const pieces = readExactText(data, path).split(oldText)
        count = pieces.length - 1
        if (count === 0) {
          throw invalid(`oldText was not found in ${path}; read the file and copy the text exactly`)
        }
        if (count > 1 && !all) {
          throw invalid(
            `oldText occurs ${count} times in ${path}; include more surrounding lines, or set all to true`,
          )
        }
        return pieces.join(newText)
      })
      return success(`Replaced ${count} ${count === 1 ? 'occurrence' : 'occurrences'} in ${path}.`)
    }),
  })
}
