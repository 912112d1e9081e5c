import { isRecord } from '../json.ts'

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
