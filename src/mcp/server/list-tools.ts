import { isRecord } from '../../json.ts'
import type { EmitMcp } from '../mcp-event.ts'
import { readServerTool, type ServerTool } from './server-tool.ts'

/** More than any real server lists; a server that goes on is making them up. */
const MAX_PAGES = 5_000
const MAX_TOOLS = 50_000
const MAX_CHARACTERS = 32 * 1024 * 1024

/**
 * Every tool of a server, page by page. A tool that cannot be used is left out and told; a cursor that comes again
 * ends the list with what there is. Throws when a page is no page: then the list is not known.
 */
export async function listTools(
  requestPage: (cursor: string | undefined) => Promise<unknown>,
  emit: EmitMcp,
): Promise<ServerTool[]> {
  const tools: ServerTool[] = []
  const cursors = new Set<string>()
  let characters = 0
  let cursor: string | undefined
  do {
    const page = await requestPage(cursor)
    if (!isRecord(page) || !Array.isArray(page.tools))
      throw new Error('its tools/list answered without tools')
    characters += JSON.stringify(page).length
    if (characters > MAX_CHARACTERS)
      throw new Error(`its tools/list is longer than ${MAX_CHARACTERS} characters`)
    for (const listed of page.tools) take(listed, tools, emit)
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined
    if (cursor === undefined) break
    if (cursors.has(cursor)) {
      emit({
        type: 'server-warning',
        warning: 'its tools/list goes round in a circle; read as far as it is new',
      })
      break
    }
    cursors.add(cursor)
    if (cursors.size > MAX_PAGES || tools.length > MAX_TOOLS)
      throw new Error(`its tools/list does not end after ${tools.length} tools`)
  } while (cursor !== undefined)
  return tools
}

function take(listed: unknown, tools: ServerTool[], emit: EmitMcp): void {
  const tool = readServerTool(listed)
  if ('reason' in tool) emit({ type: 'tool-invalid', tool: tool.tool.slice(0, 200), reason: tool.reason })
  else tools.push(tool)
}
