import { isRecord, type Slices, sharedSlices } from '@toolcrib/core/internal'
import {
  firstOfEachName,
  MAX_NAME_CHARACTERS,
  readServerTool,
  type ServerTool,
  type UnusableTool,
} from '../listed/server-tool.ts'

/** The maximum number of tools per server: five times as many as the largest server known has. */
const MAX_TOOLS = 2_000
const CIRCLE = 'its tools/list repeats a cursor; the pages before it are used'
/** Some servers list one tool per page. */
const MAX_PAGES = 20_000
/** Of all tools of a server: twice as many as the largest server known. */
const MAX_CHARACTERS = 4 * 1024 * 1024

/** A server's list of tools. */
export interface ToolListing {
  readonly tools: readonly ServerTool[]
  readonly unusable: readonly UnusableTool[]
  /** What is wrong with the list as a whole. */
  readonly warning?: string
}

/**
 * Lists the tools of a server, page by page and in slices. Unusable tools and those that repeat a name are returned
 * separately, so that every reader of the list sees the same tool under a name. A repeated cursor ends the list with the
 * pages so far, and a list that is too long is cut. Throws when a page is invalid, because the list is then unknown.
 */
export async function listTools(
  requestPage: (cursor: string | undefined) => Promise<unknown>,
  slices: Slices = sharedSlices,
): Promise<ToolListing> {
  const tools: ServerTool[] = []
  const unusable: UnusableTool[] = []
  const cursors = new Set<string>()
  let characters = 0
  for (let cursor: string | undefined; ; ) {
    const page = await requestPage(cursor)
    if (!isRecord(page) || !Array.isArray(page.tools))
      throw new Error('its tools/list response has no list of tools')
    for (const listed of page.tools) {
      if (slices.isOver) await slices.pause()
      const length = JSON.stringify(listed)?.length ?? 0
      characters += length
      if (characters > MAX_CHARACTERS || tools.length + unusable.length === MAX_TOOLS)
        return { ...withoutRepeats(tools, unusable), warning: cutAfter(tools.length) }
      const tool = readServerTool(listed, length)
      if ('reason' in tool) unusable.push(tool)
      else tools.push(tool)
    }
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined
    if (cursor === undefined) return withoutRepeats(tools, unusable)
    if (cursors.has(cursor)) return { ...withoutRepeats(tools, unusable), warning: CIRCLE }
    cursors.add(cursor)
    if (cursors.size > MAX_PAGES)
      return { ...withoutRepeats(tools, unusable), warning: cutAfter(tools.length) }
  }
}

function cutAfter(count: number): string {
  return `its tools/list is too long; only the first ${count.toLocaleString('en-US')} tools are used`
}

function withoutRepeats(listed: readonly ServerTool[], unusable: readonly UnusableTool[]): ToolListing {
  const { tools, repeated } = firstOfEachName(listed)
  const reason = 'it is listed more than once; only the first definition is used'
  return {
    tools,
    unusable: [
      ...unusable,
      ...repeated.map((name) => ({ tool: name.slice(0, MAX_NAME_CHARACTERS), reason })),
    ],
  }
}
