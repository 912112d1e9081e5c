import { isRecord } from '../json.ts'
import type { SearchMatch } from '../search/search-result.ts'
import { clipText } from '../text.ts'
import { estimateTokens } from '../tokens.ts'
import type { JsonSchema, ToolDefinition } from '../tool.ts'

/** A match as the model reads it. */
export interface ShownMatch {
  readonly name: string
  readonly description: string
  readonly score: number
  readonly parameters: JsonSchema
}

// What the rest of an answer takes: names of activated and evicted tools, unmatched terms, servers.
const RESERVED_TOKENS = 200

/**
 * As many matches as fit, best first. The first is always there, shortened if it must be: its full schema comes
 * with the next surface.
 */
export function fitMatches(
  matches: readonly SearchMatch[],
  describe: (name: string) => ToolDefinition | undefined,
  maxTokens: number,
): readonly ShownMatch[] {
  let left = maxTokens - RESERVED_TOKENS
  const fitting: ShownMatch[] = []
  for (const { name, score } of matches) {
    const definition = describe(name)
    if (!definition) continue
    const { description, parameters } = definition
    const match = { name, description, score: Math.round(score * 1000) / 1000, parameters }
    const tokens = tokensOf(match)
    if (tokens <= left) {
      fitting.push(match)
      left -= tokens
      continue
    }
    if (fitting.length === 0)
      fitting.push({ ...match, ...shorten(definition, Math.max(left, RESERVED_TOKENS)) })
    break
  }
  return fitting
}

/** A definition within a budget: first without the words inside its schema, then only the names of its parameters. */
export function shorten(definition: ToolDefinition, maxTokens: number): Omit<ToolDefinition, 'name'> {
  const description = cutWords(definition.description, Math.floor(maxTokens / 2))
  const forms = [
    definition.parameters,
    withoutProse(definition.parameters),
    outline(definition.parameters, 50),
    outline(definition.parameters, 8),
  ]
  const parameters = forms.find((form) => tokensOf({ description, parameters: form }) <= maxTokens)
  return { description, parameters: parameters ?? { type: 'object' } }
}

function withoutProse(schema: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      PROSE.has(key) && typeof value === 'string' ? undefined : value,
    ),
  )
}

const PROSE = new Set(['description', 'title', '$comment', 'markdownDescription'])

function outline(schema: JsonSchema, most: number): JsonSchema {
  if (!isRecord(schema) || !isRecord(schema.properties)) return { type: 'object' }
  const required = Array.isArray(schema.required)
    ? schema.required.filter((name) => typeof name === 'string')
    : []
  const names = Object.keys(schema.properties)
  const kept = [
    ...names.filter((name) => required.includes(name)),
    ...names.filter((name) => !required.includes(name)),
  ].slice(0, most)
  const { properties } = schema
  return {
    type: 'object',
    properties: Object.fromEntries(kept.map((name) => [name, typeOf(properties[name])])),
    required: required.filter((name) => kept.includes(name)),
    $comment: 'shortened; the full schema comes with the next list of tools',
  }
}

function typeOf(property: unknown): JsonSchema {
  return isRecord(property) && property.type !== undefined ? { type: property.type } : {}
}

/** The beginning of a text, within a token limit; scripts without spaces have about one character per token. */
function cutWords(text: string, maxTokens: number): string {
  if (estimateTokens(text) <= maxTokens) return text
  const cut = clipText(text, maxTokens * 3)
  return estimateTokens(cut) <= maxTokens ? cut : clipText(text, maxTokens)
}

/** As many of these, in their order, as fit; always the first. */
export function fitItems<Item>(items: readonly Item[], maxTokens: number): readonly Item[] {
  let left = maxTokens - RESERVED_TOKENS
  const end = items.findIndex((item) => {
    left -= tokensOf(item)
    return left < 0
  })
  return end < 0 ? items : items.slice(0, Math.max(1, end))
}

function tokensOf(value: unknown): number {
  return estimateTokens(JSON.stringify(value))
}
