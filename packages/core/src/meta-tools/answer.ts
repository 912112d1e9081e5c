import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { adviceFor, isPoor } from '../search/search-result.ts'
import { clipText } from '../text.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import type { ActivationReport, DeferredResult, SearchSession, SearchToolOptions } from './search-session.ts'

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
export const HOW_TO_ASK =
  'Ask in English for one action, with a verb and an object: "create issue", or "server:github create issue" if you know the product.'

/** What to do when only shown tools fit a search. */
export const ONLY_VISIBLE = 'Only tools that you have already fit; call one of already_visible directly.'

/** What the model can do with a match that was not activated, and what is active now; neither in an answer that only lists. */
interface NextStep {
  readonly use: string
  readonly activated?: readonly string[]
}

/**
 * What an answer says about how well its matches fit: a note if none does, or what to do if there is none to judge. Only one
 * of the two, so that they cannot contradict each other.
 */
export function verdict(
  found: DeferredResult,
  { use, activated }: NextStep,
): { readonly note?: string; readonly hint?: string } {
  const { kind, total, matches, alreadyVisible, alreadyFound = [] } = found
  if (total === 0 && alreadyVisible.length > 0) return { hint: ONLY_VISIBLE }
  const loaded = activated && (activated.length === 0 ? ', so none was loaded' : ', so no more were loaded')
  if (alreadyVisible.length > 0)
    return isPoor(found) ? { note: `None of these fits well${loaded ?? ''}; ${RATHER_VISIBLE}` } : {}
  const fits = alreadyFound.length > 0 ? 'No other tool fits as well as already_found' : 'No tool fits well'
  const poor = `${fits}${loaded ?? ''}`
  const advice = adviceFor(found, { poor, use })
  const unsearched = found.servers?.length ? ' The tools of "servers" could not be searched.' : ''
  if (advice !== undefined) return { note: clipText(advice, 400) + unsearched }
  if (total === 0) return { hint: `${kind === 'select' ? NO_SUCH_NAME : NO_MATCH}${unsearched}` }
  return matches.length === 0 ? { hint: `There is no further match; ${total} in all.` } : {}
}

const RATHER_VISIBLE = 'a tool that you have fits as well or better: call one of already_visible directly.'
const NO_SUCH_NAME = 'There is no tool of that name. Ask with what it should do, in a few words.'
const NO_MATCH = 'No tool matches this pattern. Try a shorter one, or ask with what the tool should do.'

/** What every answer of a search says besides its matches. */
export function searchFacts(found: DeferredResult, session: SearchSession): object {
  const { alreadyFound = [], alreadyVisible, missing = [], unmatchedTerms = [], readAs, servers = [] } = found
  const { joined, left } = session.takeServerChanges()
  const lists = {
    already_found: alreadyFound,
    already_visible: alreadyVisible,
    missing,
    unmatched_terms: unmatchedTerms,
    // Since the conversation began.
    servers_joined: joined,
    servers_left: left,
  }
  return {
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([key, list]) => (list.length > 0 ? [[key, clipList(list)]] : [])),
    ),
    ...(readAs ? { read_as: readAs } : {}),
    ...(servers.length > 0 ? { servers: servers.slice(0, MAX_LISTED) } : {}),
  }
}

/** Checks out what a search found; `evicted` includes what no answer has named yet. */
export async function checkOut(session: SearchSession, names: readonly string[]): Promise<ActivationReport> {
  const report = await session.activate(names)
  return { ...report, evicted: [...session.takeEvictions(), ...report.evicted] }
}

/** The size limit of an answer, in tokens. */
export function answerLimit(
  { maxAnswerTokens }: SearchToolOptions,
  { resultLimitChars }: ToolContext,
): number {
  return Math.min(maxAnswerTokens, Math.floor(resultLimitChars / 4))
}

/** Where found tools are called from, and how the model loads one. */
interface Loading extends Pick<SearchToolOptions, 'isDispatch'> {
  readonly use: string
}

/** What an answer says about matches that did not fit; undefined when all did. */
export function withoutRoom(
  wanted: readonly string[],
  report: ActivationReport,
  { isDispatch, use }: Loading,
): { readonly names: readonly string[]; readonly hint: string } | undefined {
  const names = notLoaded(wanted, report)
  if (names.length === 0) return undefined
  const step = isDispatch
    ? 'you can still call them.'
    : `when you need one, ${use}. It then takes the place of the tool used longest ago.`
  return { names: clipList(names), hint: `There was no room to load not_activated: ${step}` }
}

/** The wanted names that did not fit. */
export function notLoaded(
  wanted: readonly string[],
  { activated, missing }: ActivationReport,
): readonly string[] {
  return wanted.filter((name) => !activated.includes(name) && !missing.includes(name))
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
