import {
  anyFunction,
  checkOptions,
  either,
  type OptionRules,
  objectWith,
  textList,
} from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import type { Clock } from '../time.ts'
import type { Tool } from '../tool.ts'
import { editFileTool } from './edit-file.ts'
import { execTool } from './exec.ts'
import { findFilesTool } from './find-files.ts'
import { kanbanAddTool } from './kanban-add.ts'
import { kanbanListTool } from './kanban-list.ts'
import { kanbanMoveTool } from './kanban-move.ts'
import { listDirectoryTool } from './list-directory.ts'
import { memorySaveTool } from './memory-save.ts'
import { memorySearchTool } from './memory-search.ts'
import { readFileTool } from './read-file.ts'
import { searchFilesTool } from './search-files.ts'
import { webFetchTool } from './web-fetch.ts'
import { writeFileTool } from './write-file.ts'

/** Which of the built-in tools, and what they take from the host. */
export interface BuiltinToolsOptions {
  /** Only these, by name; all by default. */
  readonly only?: readonly string[]
  /** Where tickets and memories get their time from. `Date` by default. */
  readonly clock?: Clock
}

const OPTIONS: OptionRules<BuiltinToolsOptions> = {
  only: textList,
  clock: either(objectWith('now'), anyFunction),
}

/**
 * The tools that ship with Toolcrib. Each declares the capability it works through and does nothing without a
 * backend that grants it.
 */
export function builtinTools(options: BuiltinToolsOptions = {}): Tool[] {
  checkOptions('builtinTools()', options, OPTIONS)
  const { only, clock = Date } = options
  const tools = [
    execTool(),
    readFileTool(),
    writeFileTool(),
    editFileTool(),
    listDirectoryTool(),
    findFilesTool(),
    searchFilesTool(),
    webFetchTool(),
    memorySaveTool({ clock }),
    memorySearchTool(),
    kanbanListTool(),
    kanbanAddTool({ clock }),
    kanbanMoveTool(),
  ]
  if (only === undefined) return tools
  return only.map((name) => {
    const tool = tools.find((candidate) => candidate.name === name)
    if (tool !== undefined) return tool
    const names = tools.map((candidate) => candidate.name)
    const nearest = nearestName(name, names)
    const meant = nearest === undefined ? '' : `did you mean "${nearest}"? `
    throw new ToolcribError(
      'config-invalid',
      `there is no built-in tool "${name}"; ${meant}choose from ${names.join(', ')}`,
    )
  })
}
