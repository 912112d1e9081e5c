import type { Finding, JsonSchema, ToolAnnotations } from '@toolcrib/core'
import { isRecord } from '@toolcrib/core/internal'

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

/** The first tool of each name, and the names that occur again. */
export function firstOfEachName(listed: readonly ServerTool[]): {
  tools: ServerTool[]
  repeated: readonly string[]
} {
  const byName = new Map<string, ServerTool>()
  const repeated = new Set<string>()
  for (const tool of listed) {
    if (byName.has(tool.name)) repeated.add(tool.name)
    else byName.set(tool.name, tool)
  }
  return { tools: [...byName.values()], repeated: [...repeated] }
}

/** How much of a tool's name a report shows. */
export const MAX_NAME_CHARACTERS = 200
/** Six times as many as the largest tool known has. A tool is hashed, scanned and copied without a pause. */
const MAX_TOOL_CHARACTERS = 512 * 1024

/** Reads one listed tool leniently: rejects, with the reason, only a tool that cannot be called at all, or is too long. */
export function readServerTool(listed: unknown, length = 0): ServerTool | UnusableTool {
  if (!isRecord(listed)) return { tool: '(no name)', reason: 'it is not an object' }
  const { name, title, description, inputSchema, outputSchema, annotations, _meta } = listed
  if (typeof name !== 'string' || name === '') return { tool: '(no name)', reason: 'it has no name' }
  if (!isAbsent(inputSchema) && !isSchema(inputSchema))
    return { tool: name.slice(0, MAX_NAME_CHARACTERS), reason: 'its inputSchema is not a schema' }
  if (length > MAX_TOOL_CHARACTERS)
    return {
      tool: name.slice(0, MAX_NAME_CHARACTERS),
      reason: `it is longer than ${MAX_TOOL_CHARACTERS} characters`,
    }
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

/** What a scan found in the tools of one server, with the rules and definitions it used. */
export interface ScannedTools {
  readonly rules: string
  /** A hash of the definitions. */
  readonly definitions: string
  /** true: the definitions were read together with this hash, and are known to match it. */
  readonly isSealed?: boolean
  readonly findings: readonly Finding[]
}
