import type { Clock, Tool } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import {
  anyFunction,
  checkOptions,
  either,
  nearestName,
  type OptionRules,
  objectWith,
  textList,
} from '@toolcrib/core/internal'
import { editFileTool } from './edit-file.ts'
import { execTool } from './exec.ts'
import { findFilesTool } from './find-files.ts'
import { kanbanAddTool, kanbanListTool, kanbanMoveTool } from './kanban.ts'
import { listDirectoryTool } from './list-directory.ts'
import { memorySaveTool, memorySearchTool } from './memory.ts'
import { readFileTool } from './read-file.ts'
import { searchFilesTool } from './search-files.ts'
import { webFetchTool } from './web-fetch.ts'
import { writeFileTool } from './write-file.ts'

/** Selects built-in tools and passes in what they need from the host. */
export interface BuiltinToolsOptions {
  /** Names of the tools to include; all by default. */
  readonly only?: readonly string[]
  /** Clock for the timestamps of tickets and memories. `Date` by default. */
  readonly clock?: Clock
}

const OPTIONS: OptionRules<BuiltinToolsOptions> = {
  only: textList,
  clock: either(objectWith('now'), anyFunction),
}

/** The tools that ship with Toolcrib. Each declares the capability it needs, and fails unless a backend grants it. */
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
      `unknown built-in tool "${name}"; ${meant}choose from ${names.join(', ')}`,
    )
  })
}
