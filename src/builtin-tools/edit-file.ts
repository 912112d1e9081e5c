import { defineTool } from '../authoring/define-tool.ts'
import type { Tool } from '../tool.ts'
import { answering, granted, invalid, success } from './answering.ts'
import { readExactText } from './file-text.ts'

/** `edit_file`: replaces an exact piece of a file, which must be unique unless all are meant. */
export function editFileTool(): Tool {
  return defineTool({
    name: 'edit_file',
    title: 'Edit a file',
    description:
      'Changes a part of a text file: replaces oldText by newText. oldText must stand in the file exactly as given, ' +
      'spaces and line breaks included, and only once; with all it is replaced everywhere.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file to change' },
        oldText: { type: 'string', minLength: 1, description: 'The exact text to replace' },
        newText: { type: 'string', description: 'What stands there afterwards' },
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
      if (oldText === newText) throw invalid('oldText and newText are the same; nothing was changed')
      let count = 0
      await granted(ctx, 'fs_reach').update(path, (data) => {
        const pieces = readExactText(data, path).split(oldText)
        count = pieces.length - 1
        if (count === 0) {
          throw invalid(`oldText does not stand in ${path}; read the file and copy the text exactly`)
        }
        if (count > 1 && !all) {
          throw invalid(`oldText stands ${count} times in ${path}; add lines around it, or set all`)
        }
        return pieces.join(newText)
      })
      return success(`Replaced ${count} ${count === 1 ? 'occurrence' : 'occurrences'} in ${path}.`)
    }),
  })
}
