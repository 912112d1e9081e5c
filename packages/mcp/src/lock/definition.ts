import { createHash } from 'node:crypto'
import { canonicalJson, clipText, isRecord } from '@toolcrib/core/internal'
import type { ServerTool } from '../listed/server-tool.ts'

/** The fields that an approval of a tool covers, besides its name. */
export const DEFINITION_FIELDS = [
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  '_meta',
] as const satisfies readonly (keyof ServerTool)[]

/** A tool's definition, as approved. */
export type LockedDefinition = Pick<ServerTool, (typeof DEFINITION_FIELDS)[number]>

/** The approved part of a listed tool, as the server sent it, with order-insensitive lists sorted. */
export function definitionOf(tool: LockedDefinition): LockedDefinition {
  const { inputSchema, outputSchema } = tool
  return pickDefinition({
    ...tool,
    inputSchema: inSetOrder(inputSchema) as LockedDefinition['inputSchema'],
    ...(isRecord(outputSchema) ? { outputSchema: inSetOrder(outputSchema) as typeof outputSchema } : {}),
  })
}

/** The approved part of a listed tool, unchanged. Of its `_meta`, only what names its user interface counts. */
export function pickDefinition(tool: LockedDefinition): LockedDefinition {
  const covered = { ...tool, _meta: uiMeta(tool._meta) }
  const present = DEFINITION_FIELDS.filter((field) => covered[field] !== undefined)
  return Object.fromEntries(present.map((field) => [field, covered[field]])) as unknown as LockedDefinition
}

/** The part of `_meta` that names a user interface, with the older key for it; undefined if there is none. */
export function uiMeta(meta: unknown): Readonly<Record<string, unknown>> | undefined {
  const entries = Object.entries(isRecord(meta) ? meta : {})
  const ofUi = entries.filter(([key, value]) => UI_KEYS.includes(key) && value !== undefined)
  return ofUi.length === 0 ? undefined : Object.fromEntries(ofUi)
}

const UI_KEYS = ['ui', 'ui/resourceUri']

/** SHA-256 of a tool's name and definition. The order of keys and of sets does not matter; everything else does. */
export function hashDefinition(name: string, tool: LockedDefinition): string {
  return sha256({ name, ...definitionOf(tool) })
}

/** The maximum length of a summary. */
export const MAX_SUMMARY = 100

/**
 * One line about a definition, for people who review a lockfile: `(path, head?) [read-only] Reads a file.` Definitions with
 * equal hashes have equal summaries.
 */
export function summaryOf({ inputSchema, annotations, description, title }: LockedDefinition): string {
  const { properties, required } = isRecord(inputSchema) ? inputSchema : {}
  const needed = new Set(Array.isArray(required) ? required : [])
  const names = Object.keys(isRecord(properties) ? properties : {}).sort()
  const parameters = [
    ...names.filter((name) => needed.has(name)),
    ...names.filter((name) => !needed.has(name)).map((name) => `${name}?`),
  ]
  const marks = [
    ...(annotations?.readOnlyHint === true ? ['[read-only]'] : []),
    ...(annotations?.destructiveHint === true ? ['[destructive]'] : []),
  ]
  const words = [`(${parameters.join(', ')})`, ...marks, description || title || ''].join(' ')
  return clipText(words.replace(/\s+/gu, ' ').trim(), MAX_SUMMARY)
}

/** SHA-256 of data in canonical form. */
export function sha256(data: unknown): string {
  return `sha256-${createHash('sha256').update(canonicalJson(data)).digest('hex')}`
}

/** Deeper schemas are not registered either. */
const MAX_DEPTH = 200

/** Whether data is too deeply nested to be hashed as a definition, or nested more deeply than `maxDepth`. */
export function isTooDeep(data: unknown, maxDepth = MAX_DEPTH): boolean {
  // Level by level, because deep data would overflow a recursion.
  let level: unknown[] = [data]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true
    level = level.flatMap((item): unknown[] =>
      typeof item === 'object' && item !== null
        ? Object.values(item).filter((value) => typeof value === 'object' && value !== null)
        : [],
    )
  }
  return false
}

/** Lists in a schema whose order has no meaning. */
const SETS: ReadonlySet<string> = new Set(['required', 'enum', 'type'])
/** Keywords whose values are data, whatever their keys. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples'])

function inSetOrder(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inSetOrder)
  if (!isRecord(schema)) return schema
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (SETS.has(keyword) && Array.isArray(value)) return [keyword, sortItems(value)]
    return [keyword, DATA.has(keyword) ? value : inSetOrder(value)]
  })
  return Object.fromEntries(entries)
}

function sortItems(items: readonly unknown[]): unknown[] {
  const keyed = items.map((item) => ({ item, key: canonicalJson(item) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item)
}

export function ownValue(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
