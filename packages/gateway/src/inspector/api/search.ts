import type { RegistrySearchOptions, SearchResult, ToolRegistry } from '@toolcrib/core'
import { isSearchTool } from '@toolcrib/core/internal'
import { reading, text, writing } from './route.ts'

/** A match of one searcher, with its reasons. */
export interface SearchSide {
  readonly searcher: string
  readonly total: number
  readonly durationMs: number
  readonly matches: SearchResult['matches']
  /** Whether scores are probabilities, from 0 to 1; otherwise they can only be compared with each other. */
  readonly isProbable: boolean
  readonly unmatchedTerms: readonly string[]
  /** Says so if no tool fits well, although some match. */
  readonly advice: string | null
}

const LIMIT = 12

/** What a search finds, by words alone and by the registry's own searcher. Activates nothing. */
export const search = reading({ query: text }, async ({ registry, history }, { query }) => {
  const byWords = () => side(registry, query, { searcher: 'lexical' })
  const found = await side(registry, query)
  // The default searcher is chosen by its first search.
  const own = registry.searcher.name
  const sides = [
    { ...found, searcher: own },
    ...(own === 'lexical' ? [] : [await history.events.comparing(query, byWords)]),
  ]
  return { query, sides }
})

async function side(
  registry: ToolRegistry,
  query: string,
  options: RegistrySearchOptions = {},
): Promise<SearchSide> {
  const start = performance.now()
  const found = await registry.search(query, { limit: LIMIT, ...options })
  const durationMs = performance.now() - start
  const { total, matches, confidence, unmatchedTerms = [], advice = null } = found
  const isProbable = confidence !== undefined
  return { searcher: 'lexical', total, durationMs, matches, isProbable, unmatchedTerms, advice }
}

/** Searches as a model does: through the search tool of a session, which activates what it finds. */
export const searchAsModel = writing({ query: text }, async (inspection, { query }) => {
  const session = await inspection.trial()
  const before = session.surface()
  const name = before.tools.find((each) => isSearchTool(each.name))?.name
  if (name === undefined) return { isNeeded: false as const }
  const args = name === 'tool_search_regex' ? { pattern: query } : { query }
  const [outcome] = await session.execute([{ toolCallId: inspection.newCallId(), name, args }])
  const result = outcome?.result ?? { ok: false, error: 'the search was cancelled', code: 'cancelled' }
  const structured = result.ok ? result.structured : undefined
  const { activated = [], evicted = [] } = (structured ?? {}) as Partial<Record<string, string[]>>
  return {
    isNeeded: true as const,
    tool: name,
    activated,
    evicted,
    active: session.toJSON().activations.map(({ name: each }) => each),
    /** What the model reads. */
    answer: result.ok ? result.value : result.error,
  }
})

/** Returns everything that searches on the page have checked out. */
export const resetSearch = writing({}, (inspection) => {
  inspection.resetTrial()
  return {}
})

/** Recent searches that found nothing, the latest first, each text once. */
export const misses = reading({}, async (inspection) => {
  const { misses: all } = await inspection.history.activity()
  const [names, profiles] = [await inspection.clientNames(), await inspection.profiles()]
  const byText = new Map<string, MissRow>()
  for (const { text: query, what, at, session = '' } of all) {
    const { times = 0, by = [] } = byText.get(query) ?? {}
    const sender = { client: names.get(session) ?? null, profile: profiles.get(session) ?? null }
    byText.set(query, { text: query, what, at, times: times + 1, by: withSender(by, sender) })
  }
  return [...byText.values()].sort((first, second) => second.at - first.at).slice(0, 50)
})

interface MissRow {
  readonly text: string
  readonly what: string
  readonly times: number
  readonly at: number
  /** Who searched for it, each once: what a profile does not allow is not found either. */
  readonly by: readonly Sender[]
}

interface Sender {
  readonly client: string | null
  readonly profile: string | null
}

function withSender(known: readonly Sender[], { client, profile }: Sender): readonly Sender[] {
  if (client === null && profile === null) return known
  const isKnown = known.some((each) => each.client === client && each.profile === profile)
  return isKnown ? known : [...known, { client, profile }]
}
