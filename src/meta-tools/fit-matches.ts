import { isRecord } from '../json.ts'
import { isPoor, type SearchMatch } from '../search/search-result.ts'
import { matchFit } from '../search/searcher.ts'
import { clipText, estimateTokens } from '../text.ts'
import type { JsonSchema, ToolDefinition } from '../tool.ts'
import type { DeferredResult, SearchSession } from './search-session.ts'

/** A match as the model reads it. */
export interface ShownMatch {
  readonly name: string
  readonly description: string
  readonly score: number
  readonly parameters: JsonSchema
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

/** The matches of an answer, and those of them to activate. */
export interface FittingMatches {
  readonly shown: readonly ShownMatch[]
  readonly worthActivating: readonly string[]
}

/**
 * As many matches as fit, best first. The first is always there, shortened if it must be: its full schema comes
 * with the next surface or, under dispatch, with the error of a call. Those that are not worth activating, those that the
 * next surface shows anyway and, under dispatch, those that are unlikely have the beginning of their description and the names
 * of their parameters. If probably none is right, nothing is worth activating but what is active.
 */
export function fitMatches(
  found: Pick<DeferredResult, 'kind' | 'matches' | 'leaders' | 'answerable'>,
  session: Matchmaker & Pick<SearchSession, 'describe' | 'tokensOf' | 'isDeclared'>,
  { maxTokens, isDispatch }: DefinitionLimit,
): FittingMatches {
  const { matches, leaders } = found
  let left = maxTokens - RESERVED_TOKENS
  const hasNone = isPoor(found)
  const worthIt = hasNone
    ? matches.map(({ name }) => name).filter((name) => session.isActive(name))
    : worthActivating(matches, session, leaders)
  const best = Math.max(...[...leaders, ...matches].map(likelihoodOf))
  const shown: ShownMatch[] = []
  for (const { name, score } of matches) {
    const whole = session.describe(name)
    if (!whole) continue
    // Under dispatch, a tool is called alike whether it is active or not, so only its chance decides.
    const isUnlikely = isDispatch && (hasNone || score < FAR_LESS_LIKELY * best)
    const definition = session.isDeclared(name)
      ? mention(whole, SCHEMA_IS_DECLARED)
      : worthIt.includes(name) && !isUnlikely
        ? whole
        : mention(whole, isDispatch ? SCHEMA_WITH_ERROR : SCHEMA_BY_NAME)
    const { description, parameters } = definition
    const match = { name, description, score: Math.round(score * 1000) / 1000, parameters }
    const size = definition === whole ? session.tokensOf(whole.name) : tokensOf(definition)
    const tokens = size + SCORE_TOKENS
    if (tokens <= left) {
      shown.push(match)
      left -= tokens
      continue
    }
    if (shown.length === 0) {
      const limit = { maxTokens: Math.max(left, RESERVED_TOKENS), isDispatch }
      shown.push({ ...match, ...shorten(whole, limit) })
    }
    break
  }
  const names = new Set(shown.map(({ name }) => name))
  return { shown, worthActivating: worthIt.filter((name) => names.has(name)) }
}

/** What the description of a match takes that is not activated, and how many of its parameters are named. */
const MENTION_TOKENS = 40
const MENTIONED_PARAMETERS = 8

/** What the model needs to recognise a tool. */
function mention(definition: ToolDefinition, comment: string): ToolDefinition {
  const { name, description, parameters } = definition
  const short: ToolDefinition = {
    name,
    description: cutWords(description, MENTION_TOKENS),
    parameters: outline(parameters, { most: MENTIONED_PARAMETERS, comment }),
  }
  return tokensOf(short) < tokensOf(definition) ? short : definition
}

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
const SCHEMA_IS_DECLARED = 'shortened; while it is active, your list of tools has the full schema'
const SCHEMA_BY_NAME = 'shortened; ask for it by its name to see the whole schema'
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

/** The part of a match needed to compare it. */
type ScoredMatch = Pick<SearchMatch, 'name' | 'score' | 'fit'>

/** The part of a session that tells which matches to activate. */
type Matchmaker = Pick<SearchSession, 'isActive' | 'originOf'>

/** A match below this share of the best score matched only an incidental word. */
const FAR_WEAKER = 0.1

/**
 * From searchers whose scores are probabilities: beside a match that is more likely right than not, one below this share
 * of its probability is right in less than one answer of a hundred.
 */
const FAR_LESS_LIKELY = 1 / 40
const LIKELY_FROM = 0.5

/**
 * The names of the matches worth activating: those that are active, and those that are not far weaker than the best. A tool
 * that passes `+word` and matches nothing else (score 0) is always far weaker than one that matches, but never than another
 * such tool. A server that nobody approved makes only its own tools unlikely: it may have written one to fit every request.
 * If a match is worth it, so is every likelier one. `leaders` are the best matches of earlier pages.
 */
export function worthActivating(
  matches: readonly ScoredMatch[],
  session: Matchmaker,
  leaders: readonly ScoredMatch[] = [],
): readonly string[] {
  const compared = [...leaders, ...matches]
  const best = Math.max(...compared.map(matchFit))
  const likely = compared
    .filter((match) => likelihoodOf(match) > 0)
    .map(({ name, score }) => ({ score, origin: session.originOf(name) }))
  const isFarLessLikely = ({ name, score }: ScoredMatch) => {
    const source = session.originOf(name)?.source
    return likely.some(
      ({ score: other, origin }) =>
        score < FAR_LESS_LIKELY * other && (origin?.isApproved === true || origin?.source === source),
    )
  }
  const near = matches.filter((match) => matchFit(match) >= FAR_WEAKER * best)
  const least = Math.min(...near.filter((match) => !isFarLessLikely(match)).map(({ score }) => score))
  const worthIt = new Set(near.filter(({ score }) => score >= least))
  return matches.filter((match) => worthIt.has(match) || session.isActive(match.name)).map(({ name }) => name)
}

/** The probability of a match that is more likely right than not; 0 of any other, and from searchers that do not know. */
function likelihoodOf({ fit, score }: ScoredMatch): number {
  return fit !== undefined && score >= LIKELY_FROM ? score : 0
}
