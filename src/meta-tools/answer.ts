import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { SearchMatch } from '../search/search-result.ts'
import { clipText, estimateTokens } from '../text.ts'
import type { JsonSchema, ToolDefinition, ToolResult } from '../tool.ts'
import type { DeferredResult, SearchSession, SearchToolOptions } from './search-session.ts'

/** A meta-tool's answer: JSON for the model, and the same object for the host. */
export function answer(structured: object): ToolResult {
  return { ok: true, value: JSON.stringify(structured), structured }
}

export function inputInvalid(error: string): ToolResult {
  return { ok: false, code: 'input_invalid', error }
}

/** Runs a search. An invalid query or pattern becomes a result, because the model can correct it. */
export async function answerSearch(search: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await search()
  } catch (error) {
    if (isBadQuery(error)) return inputInvalid(error.message)
    throw error
  }
}

export function isBadQuery(error: unknown): error is ToolcribError {
  return (
    error instanceof ToolcribError && (error.code === 'query-invalid' || error.code === 'pattern-invalid')
  )
}

/** Limits the number and length of texts in an answer. */
export function clipList(texts: readonly string[]): readonly string[] {
  return texts.slice(0, MAX_LISTED).map((text) => clipText(text, MAX_ECHO))
}

/** Limits the length of the model's own words in an answer. */
export function echo(text: string): string {
  return clipText(text, MAX_ECHO)
}

const MAX_LISTED = 25
const MAX_ECHO = 200

/** How the model calls a tool that it has found. */
export function howToCall({ isDispatch }: Pick<SearchToolOptions, 'isDispatch'>): string {
  return isDispatch ? 'call it with call_tool { name, arguments }' : 'call it directly by its name'
}

/** How to ask, for every search tool's description and the prompt note. */
export const HOW_TO_ASK = 'Ask in English, with a verb and an object: "create issue", "read spreadsheet".'

/** What to do when only shown tools fit a search. */
export const ONLY_VISIBLE = 'Only tools that you have already fit; call one of already_visible directly.'

/** The top of a search answer: that no tool fits well, and what an earlier search for the same thing returned. */
export function answerHead({ advice, alreadyFound = [] }: DeferredResult): object {
  return {
    ...(advice === undefined ? {} : { note: clipText(advice, 400) }),
    ...(alreadyFound.length > 0 ? { already_found: clipList(alreadyFound) } : {}),
  }
}

/** The servers that joined or left since the conversation began, as every search answer names them. */
export function serverChanges(session: SearchSession): object {
  const { joined, left } = session.takeServerChanges()
  return {
    ...(joined.length > 0 ? { servers_joined: clipList(joined) } : {}),
    ...(left.length > 0 ? { servers_left: clipList(left) } : {}),
  }
}

/** The part of a match needed to compare it. */
type ScoredMatch = Pick<SearchMatch, 'name' | 'score' | 'fit'>

/** A match below this share of the best score matched only an incidental word. */
const FAR_WEAKER = 0.1

/**
 * From searchers whose scores are probabilities: where the best match is more likely right than not, one below this share
 * of its probability is right in less than one answer of a hundred.
 */
const FAR_LESS_LIKELY = 1 / 40
const LIKELY_FROM = 0.5

/**
 * The names of the matches worth activating: not those that are far weaker than the best. A tool that passes `+word` and
 * matches nothing else (score 0) is always far weaker than one that matches, but never than another such tool.
 */
export function worthActivating(matches: readonly ScoredMatch[]): readonly string[] {
  const bestFit = Math.max(...matches.map(fitOf))
  const best = Math.max(...matches.map(({ score }) => score))
  const isFarWeaker = (match: ScoredMatch) => fitOf(match) < FAR_WEAKER * bestFit
  const isFarLessLikely = ({ score, fit }: ScoredMatch) =>
    fit !== undefined && best >= LIKELY_FROM && score < FAR_LESS_LIKELY * best
  return matches.filter((match) => !isFarWeaker(match) && !isFarLessLikely(match)).map(({ name }) => name)
}

function fitOf({ fit, score }: ScoredMatch): number {
  return fit ?? score
}

/** What the answer of a search tool says about tools, whichever of the three forms it has. */
export interface SearchAnswer {
  /** The tools whose descriptions it quotes. */
  readonly described: readonly string[]
  /** Those of them that the session has checked out. */
  readonly activated: readonly string[]
}

const NOTHING: SearchAnswer = { described: [], activated: [] }

/** Reads the `structured` answer of a search tool; anything else describes nothing. */
export function readSearchAnswer(structured: unknown): SearchAnswer {
  if (!isRecord(structured)) return NOTHING
  // tool_search { name }
  if (typeof structured.activated === 'boolean') {
    const names = structured.activated && typeof structured.name === 'string' ? [structured.name] : []
    return { described: names, activated: names }
  }
  // tool_search_regex
  if (Array.isArray(structured.tools)) {
    const described = namesIn(structured.tools)
    const loaded = structured.tools.filter((tool) => isRecord(tool) && tool.loaded === true)
    return { described, activated: namesIn(loaded) }
  }
  const described = namesIn(structured.matches)
  if (Array.isArray(structured.activated)) {
    const { activated } = structured
    return { described, activated: described.filter((name) => activated.includes(name)) }
  }
  // ToolSearch checks out all it returns, unless it says otherwise; a query of two steps only lists.
  return { described, activated: structured.query_kind === undefined ? [] : described }
}

function namesIn(listed: unknown): readonly string[] {
  if (!Array.isArray(listed)) return []
  return listed.flatMap((match) => (isRecord(match) && typeof match.name === 'string' ? [match.name] : []))
}

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

/**
 * As many matches as fit, best first. The first is always there, shortened if it must be: its full schema comes
 * with the next surface or, under dispatch, with the error of a call. Those that are not worth activating have a short
 * description and the names of their parameters.
 */
export function fitMatches(
  matches: readonly SearchMatch[],
  session: Pick<SearchSession, 'describe' | 'tokensOf'>,
  { maxTokens, isDispatch }: DefinitionLimit,
): readonly ShownMatch[] {
  let left = maxTokens - RESERVED_TOKENS
  const worthIt = new Set(worthActivating(matches))
  const fitting: ShownMatch[] = []
  for (const { name, score } of matches) {
    const definition = session.describe(name)
    if (!definition) continue
    const shown = worthIt.has(name) ? definition : mention(definition, isDispatch)
    const { description, parameters } = shown
    const match = { name, description, score: Math.round(score * 1000) / 1000, parameters }
    const size = shown === definition ? session.tokensOf(definition.name) : tokensOf(shown)
    const tokens = size + SCORE_TOKENS
    if (tokens <= left) {
      fitting.push(match)
      left -= tokens
      continue
    }
    if (fitting.length === 0) {
      const limit = { maxTokens: Math.max(left, RESERVED_TOKENS), isDispatch }
      fitting.push({ ...match, ...shorten(definition, limit) })
    }
    break
  }
  return fitting
}

/** What a match that is not activated takes at most, so that the model can ask for it. */
const MENTION_TOKENS = 40
const MENTIONED_PARAMETERS = 8

function mention(definition: ToolDefinition, isDispatch: boolean): ToolDefinition {
  const { name, description, parameters } = definition
  const short: ToolDefinition = {
    name,
    description: cutWords(description, MENTION_TOKENS),
    parameters: outline(parameters, {
      most: MENTIONED_PARAMETERS,
      comment: isDispatch ? SCHEMA_WITH_ERROR : SCHEMA_BY_NAME,
    }),
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
const SCHEMA_BY_NAME = 'shortened; load it by its name to see the whole schema'
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
