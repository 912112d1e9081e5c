import type { Tool } from '@toolcrib/core'
import { defineTool } from '@toolcrib/core'
import { answering, granted, success } from './answering.ts'
import { globTest } from './glob.ts'
import { walkFiles } from './walk-files.ts'

/** `find_files`: finds files by name. */
export function findFilesTool(): Tool {
  return defineTool({
    name: 'find_files',
    title: 'Find files',
    description:
      'Finds files by glob pattern in a directory and its subdirectories: *.md matches names at any depth, ' +
      'src/**/*.test.ts matches paths. Skips .git and node_modules. To search file contents use search_files.',
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', minLength: 1, description: 'Glob: * ? ** [a-z] {a,b}' },
        path: {
          type: 'string',
          minLength: 1,
          description: 'The directory to search; defaults to the base directory',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 2000,
          description: 'Maximum number of files to return; 200 by default',
        },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'files',
    searchHint: 'locate glob filename path pattern where is a file',
    capabilities: { fs_reach: { read: ['*'] } },
    execute: answering(async ({ pattern, path = '.', limit = 200 }, ctx) => {
      const isWanted = globTest(pattern)
      const report = { isCut: false }
      const found: string[] = []
      for await (const file of walkFiles(granted(ctx, 'fs_reach'), path, ctx.signal, report)) {
        if (!isWanted(file.relative)) continue
        if (found.length === limit) {
          return success(
            `${found.join('\n')}\n[only the first ${limit}; narrow the pattern or the path]`,
            found,
          )
        }
        found.push(file.path)
      }
      const note = report.isCut ? '[too many files to check them all; pass a deeper path]' : undefined
      if (found.length === 0) return success(note ?? `No file matches ${pattern} in "${path}".`, found)
      return success([...found, ...(note === undefined ? [] : [note])].join('\n'), found)
    }),
  })
}
