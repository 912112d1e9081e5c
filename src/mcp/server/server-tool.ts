import { isRecord } from '../../json.ts'
import type { JsonSchema, ToolAnnotations } from '../../tool.ts'

/** A tool as a server lists it, with what makes no sense put right or left out. */
export interface ServerTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: ToolAnnotations
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** Reads one tool of a list leniently: only what cannot be called at all is refused, with the reason. */
export function readServerTool(
  listed: unknown,
): ServerTool | { readonly reason: string; readonly tool: string } {
  if (!isRecord(listed)) return { tool: '(no name)', reason: 'it is no object' }
  const { name, title, description, inputSchema, outputSchema, annotations, _meta } = listed
  if (typeof name !== 'string' || name === '') return { tool: '(no name)', reason: 'it has no name' }
  if (!isAbsent(inputSchema) && !isSchema(inputSchema))
    return { tool: name, reason: 'its inputSchema is no schema' }
  return {
    name,
    ...(typeof title === 'string' ? { title } : {}),
    description: typeof description === 'string' ? description : '',
    inputSchema: isSchema(inputSchema) ? inputSchema : { type: 'object' },
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    ...(isRecord(annotations) ? { annotations: readAnnotations(annotations) } : {}),
    ...(isRecord(_meta) ? { _meta } : {}),
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
