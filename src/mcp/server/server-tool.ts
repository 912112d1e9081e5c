import { isRecord } from '../../json.ts'
import type { JsonSchema, ToolAnnotations } from '../../tool.ts'

/** A tool as a server lists it, with invalid fields corrected or omitted. */
export interface ServerTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: ToolAnnotations
  readonly _meta?: Readonly<Record<string, unknown>>
  /** The definition exactly as the server sent it, including unknown fields. */
  readonly listed?: Readonly<Record<string, unknown>>
}

/** A listed tool that cannot be used, and why. */
export interface UnusableTool {
  readonly tool: string
  readonly reason: string
}

/** The maximum number of tools per server; a server that lists more is generating them. */
const MAX_TOOLS = 50_000
/** Some servers list one tool per page. */
const MAX_PAGES = 20_000
const MAX_CHARACTERS = 32 * 1024 * 1024

/**
 * Lists every tool of a server, page by page. Unusable tools are returned separately. A repeated cursor ends the list
 * with the pages so far. Throws when a page is invalid, because the list is then unknown.
 */
export async function listTools(
  requestPage: (cursor: string | undefined) => Promise<unknown>,
): Promise<{ tools: ServerTool[]; unusable: UnusableTool[]; warning?: string }> {
  const tools: ServerTool[] = []
  const unusable: UnusableTool[] = []
  const cursors = new Set<string>()
  let characters = 0
  for (let cursor: string | undefined; ; ) {
    const page = await requestPage(cursor)
    if (!isRecord(page) || !Array.isArray(page.tools))
      throw new Error('its tools/list response has no list of tools')
    characters += JSON.stringify(page).length
    if (characters > MAX_CHARACTERS)
      throw new Error(`its tools/list is longer than ${MAX_CHARACTERS} characters`)
    for (const listed of page.tools) {
      const tool = readServerTool(listed)
      if ('reason' in tool) unusable.push(tool)
      else tools.push(tool)
    }
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined
    if (cursor === undefined) return { tools, unusable }
    if (cursors.has(cursor)) return { tools, unusable, warning: CIRCLE }
    cursors.add(cursor)
    if (cursors.size > MAX_PAGES || tools.length > MAX_TOOLS)
      throw new Error(`its tools/list does not end after ${tools.length} tools`)
  }
}

const CIRCLE = 'its tools/list repeats a cursor; the pages before it are used'
const MAX_NAME_CHARACTERS = 200

/** Reads one listed tool leniently: rejects, with the reason, only a tool that cannot be called at all. */
export function readServerTool(listed: unknown): ServerTool | UnusableTool {
  if (!isRecord(listed)) return { tool: '(no name)', reason: 'it is not an object' }
  const { name, title, description, inputSchema, outputSchema, annotations, _meta } = listed
  if (typeof name !== 'string' || name === '') return { tool: '(no name)', reason: 'it has no name' }
  if (!isAbsent(inputSchema) && !isSchema(inputSchema))
    return { tool: name.slice(0, MAX_NAME_CHARACTERS), reason: 'its inputSchema is not a schema' }
  return {
    name,
    ...(typeof title === 'string' ? { title } : {}),
    description: typeof description === 'string' ? description : '',
    inputSchema: isSchema(inputSchema) ? inputSchema : { type: 'object' },
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    ...(isRecord(annotations) ? { annotations: readAnnotations(annotations) } : {}),
    ...(isRecord(_meta) ? { _meta } : {}),
    listed,
  }
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function isSchema(value: unknown): value is JsonSchema {
  return isRecord(value) || typeof value === 'boolean'
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

function readAnnotations(annotations: Record<string, unknown>): ToolAnnotations {
  const hints = HINTS.filter((hint) => typeof annotations[hint] === 'boolean')
  return {
    ...(typeof annotations.title === 'string' ? { title: annotations.title } : {}),
    ...Object.fromEntries(hints.map((hint) => [hint, annotations[hint]])),
  }
}
