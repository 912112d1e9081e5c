import { createHash } from 'node:crypto'
import { canonicalJson } from '../../json.ts'
import type { ServerTool } from '../server-tool.ts'

/** What an approval of a tool covers, beside its name. */
export const DEFINITION_FIELDS = [
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
] as const satisfies readonly (keyof ServerTool)[]

/** A tool's definition, as it is approved. */
export type LockedDefinition = Pick<ServerTool, (typeof DEFINITION_FIELDS)[number]>

/** The part of a listed tool that an approval covers, exactly as the server sent it. */
export function definitionOf(tool: LockedDefinition): LockedDefinition {
  const present = DEFINITION_FIELDS.filter((field) => tool[field] !== undefined)
  return Object.fromEntries(present.map((field) => [field, tool[field]])) as unknown as LockedDefinition
}

/** SHA-256 over a tool's name and definition. The order of keys does not count; everything else does. */
export function hashDefinition(name: string, tool: LockedDefinition): string {
  return sha256({ name, ...definitionOf(tool) })
}

/** SHA-256 over data in its canonical form. */
export function sha256(data: unknown): string {
  return `sha256-${createHash('sha256').update(canonicalJson(data)).digest('hex')}`
}
