import { isRecord } from '../json.ts'
import { isPoor } from '../search/search-result.ts'
import { clipText, estimateTokens } from '../text.ts'
import type { JsonSchema, ToolDefinition } from '../tool.ts'
import type { DeferredResult, SearchSession } from './search-session.ts'
import { signatureOf } from './signature.ts'
import type { ToolTypes } from './tool-types.ts'
import { besideOf, type Matchmaker, worthActivating } from './worth-activating.ts'

/** A match as the model reads it. */
export interface ShownMatch {
  readonly name: string
  readonly description: string
  readonly score: number
  /** All of them for a likely match, a signature for others, none for those that are far from the request. */
  readonly parameters?: JsonSchema | string
  /** Set where `parameters` are not complete: how to get them. */
  readonly schema?: string
}

/** What a match takes besides its definition. */
const SCORE_TOKENS = 6

// What the rest of an answer takes: names of activated and evicted tools, unmatched terms, servers.
const RESERVED_TOKENS = 200

/** The size limit of definitions in an answer, and how the model calls what it finds. */
export interface DefinitionLimit {
  readonly maxTokens: number
  /** True when found tools are called through `call_tool`, so that no later request declares them. */
  readonly isDispatch: boolean
}

/** What complete definitions of an answer may take together, and the first one alone. Others have a signature. */
const COMPLETE_TOKENS = 400
const FIRST_COMPLETE_TOKENS = 1_000

/** The limits of matches, and what the model does to get the schema of a short one. */
export interface MatchLimit extends DefinitionLimit {
  readonly schemaBy: string
  /** The types of tools, by name, where there are scripts. */
  readonly types?: ReadonlyMap<string, ToolTypes>
}

/** The matches of an answer, and those of them to activate. */
export interface FittingMatches {
  readonly shown: readonly ShownMatch[]
  readonly worthActivating: readonly string[]
  /** The definitions that are shown as a whole. */
  readonly complete: readonly ToolDefinition[]
}

/**
 * As many matches as fit, best first; the first is always there. Likely ones are complete, as far as there is room for
 * complete definitions; the next ones have a signature, and far weaker ones the beginning of their description. The size of
 * one never hides those after it. Only complete ones are worth activating, and what is active already; if probably none is
 * right, nothing new is.
 */
export function fitMatches(
  found: Pick<DeferredResult, 'kind' | 'matches' | 'leaders' | 'answerable'>,
  session: Matchmaker & Pick<SearchSession, 'describe' | 'tokensOf' | 'isDeclared'>,
  { maxTokens, isDispatch, schemaBy, types }: MatchLimit,
): FittingMatches {
  const { matches, leaders } = found
  let left = maxTokens - RESERVED_TOKENS
  // Whoever selects names wants their schemas.
  const isSelected = found.kind === 'select'
  let completeLeft = isSelected ? left : COMPLETE_TOKENS
  const hasNone = isPoor(found)
  const active = matches.map(({ name }) => name).filter((name) => session.isActive(name))
  const near = new Set(hasNone ? active : worthActivating(matches, session, leaders))
  const compared = [...leaders, ...matches]
  const known = matches.filter(({ name }) => session.describe(name))
  const shown: ShownMatch[] = []
  const complete: ToolDefinition[] = []
  for (const { name, score, fit } of known) {
    const whole = session.describe(name)
    if (!whole) continue
    const typed = types?.get(name)
    const place = { name, score: Math.round(score * 1000) / 1000 }
    // Only probabilities are compared. Under dispatch, a tool is called alike whether it is active or not: any server's count.
    const beside = isDispatch ? compared : besideOf(name, compared, session)
    const highest = fit === undefined ? 0 : Math.max(...beside.map((other) => other.score))
    const isRemote = score < REMOTE * highest && !session.isActive(name)
    const isLikely = near.has(name) && score >= CLOSE * highest && !(isDispatch && hasNone)
    const most = shown.length === 0 ? Math.max(FIRST_COMPLETE_TOKENS, completeLeft) : completeLeft
    const size = typed?.isWhole
      ? estimateTokens(whole.description + typed.types) + SCORE_TOKENS
      : session.tokensOf(name) + SCORE_TOKENS
    const isDeclared = session.isDeclared(name)
    const isComplete = isLikely && !isDeclared && size <= Math.min(most, left)
    const match: ShownMatch = isComplete
      ? {
          ...place,
          description: whole.description.trim(),
          parameters: typed?.isWhole ? typed.types : withoutNoise(whole.parameters),
        }
      : {
          ...place,
          ...shortMatch(whole, {
            // Without its arguments, the likely tool costs another step.
            maxChars:
              !near.has(name) || isRemote ? 0 : shown.length === 0 ? FIRST_SIGNATURE_CHARS : SIGNATURE_CHARS,
            schemaBy: isDeclared ? undefined : schemaBy,
            types: typed?.types,
          }),
        }
    const tokens = isComplete ? size : tokensOf(match)
    if (tokens > left && shown.length > 0) break
    shown.push(match)
    left -= tokens
    // The same tools are complete in an answer to the same query.
    if (isComplete || isDeclared) completeLeft -= size
    if (isComplete) complete.push(whole)
  }
  const isWorthIt = ({ name }: { readonly name: string }) =>
    session.isActive(name) || complete.some((whole) => whole.name === name)
  return { shown, worthActivating: shown.filter(isWorthIt).map(({ name }) => name), complete }
}

/** A schema without what tells a model nothing: other names than those of a schema are refused in any case. */
function withoutNoise(schema: JsonSchema): JsonSchema {
  if (!isRecord(schema)) return schema
  const { $schema: _, ...rest } = schema as Record<string, unknown>
  if (rest.additionalProperties === false) delete rest.additionalProperties
  return rest
}

const NEAR_DESCRIPTION_TOKENS = 26
const FAR_DESCRIPTION_TOKENS = 20
const SIGNATURE_CHARS = 320
const FIRST_SIGNATURE_CHARS = 1_600

/** The share of the highest probability from which a match is complete, and below which it has no signature. */
const CLOSE = 0.25
const REMOTE = 0.1

/** What the model needs to recognise a tool, and to call it if it is simple. `schemaBy`: undefined if it has the schema. */
function shortMatch(
  { description, parameters }: ToolDefinition,
  {
    maxChars,
    schemaBy,
    types = '',
  }: {
    readonly maxChars: number
    readonly schemaBy: string | undefined
    readonly types?: string | undefined
  },
): Pick<ShownMatch, 'description' | 'parameters' | 'schema'> {
  const hasSignature = maxChars > 0 && schemaBy !== undefined
  const words = cutWords(description.trim(), hasSignature ? NEAR_DESCRIPTION_TOKENS : FAR_DESCRIPTION_TOKENS)
  return {
    description: words,
    ...(hasSignature
      ? {
          parameters:
            types !== '' && types.length <= maxChars ? types : signatureOf(parameters, { maxChars }),
        }
      : {}),
    schema: schemaBy === undefined ? 'in your list of tools' : `short; ${schemaBy}`,
  }
}

/**
 * Adds parameters to what is listed: complete ones as far as the limit allows, best first, the beginning of the others. The
 * first items that fit, at least one.
 */
export function fitParameters<Item extends { readonly name: string }>(
  items: readonly Item[],
  session: Pick<SearchSession, 'describe'>,
  maxTokens: number,
): {
  readonly shown: readonly (Item & { parameters?: JsonSchema })[]
  readonly complete: readonly ToolDefinition[]
} {
  const outlined = items.map((item) => {
    const whole = session.describe(item.name)
    const short =
      whole && outline(whole.parameters, { most: MENTIONED_PARAMETERS, comment: SCHEMA_WITH_ERROR })
    return { whole, item, listed: short ? { ...item, parameters: short } : item }
  })
  const fitting = outlined.slice(
    0,
    fitItems(
      outlined.map(({ listed }) => listed),
      maxTokens,
    ).length,
  )
  let left = maxTokens - RESERVED_TOKENS - fitting.reduce((sum, { listed }) => sum + tokensOf(listed), 0)
  const complete: ToolDefinition[] = []
  const shown = fitting.map(({ whole, item, listed }) => {
    if (whole === undefined) return item
    const full = { ...item, parameters: whole.parameters }
    const more = tokensOf(full) - tokensOf(listed)
    if (more > Math.max(left, 0)) return listed
    left -= more
    complete.push(whole)
    return full
  })
  return { shown, complete }
}

/** How many parameters are named of a tool that is not complete. */
const MENTIONED_PARAMETERS = 8

/** A definition within a budget: first without the words inside its schema, then only the names of its parameters. */
export function shorten(
  definition: ToolDefinition,
  { maxTokens, isDispatch }: DefinitionLimit,
): Omit<ToolDefinition, 'name'> {
  const comment = isDispatch ? SCHEMA_WITH_ERROR : SCHEMA_WITH_TOOLS
  const description = cutWords(definition.description, Math.floor(maxTokens / 2))
  const forms = [
    definition.parameters,
    withoutProse(definition.parameters),
    outline(definition.parameters, { most: 50, comment }),
    outline(definition.parameters, { most: 8, comment }),
  ]
  const parameters = forms.find((form) => tokensOf({ description, parameters: form }) <= maxTokens)
  return { description, parameters: parameters ?? { type: 'object' } }
}

const SCHEMA_WITH_TOOLS = 'shortened; the full schema comes with the next list of tools'
const SCHEMA_WITH_ERROR = 'shortened; call it: if an argument is wrong, the error carries the schema'

function withoutProse(schema: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      PROSE.has(key) && typeof value === 'string' ? undefined : value,
    ),
  )
}

const PROSE = new Set(['description', 'title', '$comment', 'markdownDescription'])

function outline(
  schema: JsonSchema,
  { most, comment }: { readonly most: number; readonly comment: string },
): JsonSchema {
  if (!isRecord(schema) || !isRecord(schema.properties)) return { type: 'object', $comment: comment }
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
    $comment: comment,
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

/** The first items that fit into a token limit, at least one. */
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
