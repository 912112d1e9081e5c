import type { Entry } from '../registry/entry.ts'
import type { View } from '../registry/view.ts'
import { estimateTokens } from '../tokens.ts'
import { type ToolSource, UNTRUSTED_NOTE } from '../tool.ts'

/** What lies behind the search, described once per view, which many sessions share. */
export class DeferredNotes {
  readonly #maxTokens: number
  readonly #notes = new WeakMap<View, string>()

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens
  }

  /** '' when nothing is deferred. Names servers without `trust` as such. */
  of(view: View): string {
    const known = this.#notes.get(view)
    if (known !== undefined) return known
    const note = describeBehind(view, this.#maxTokens)
    this.#notes.set(view, note)
    return note
  }
}

function describeBehind({ deferred, untrustedServers }: View, maxTokens: number): string {
  if (deferred.size === 0 || untrustedServers.length === 0)
    return describeDeferred(deferred.values(), maxTokens)
  const listed = describeDeferred(deferred.values(), maxTokens - estimateTokens(UNTRUSTED_NOTE))
  return `${listed}\n${UNTRUSTED_NOTE}`
}

/**
 * Says what lies behind the search: each source with its count, then names as far as the token budget goes. It
 * depends on the catalogue alone, never on what is activated, so it does not disturb a prompt cache.
 */
export function describeDeferred(deferred: Iterable<Entry>, maxTokens: number): string {
  const groups = groupBySource(deferred)
  const lines = groups.map(({ label, names }) => ({ label, names, shown: 0 }))
  const kept = withinBudget(lines, maxTokens)
  const left = lines.length - kept.length
  const text = kept.map(writeLine)
  if (left > 0) text.push(`- and ${left} more ${left === 1 ? 'source' : 'sources'}`)
  return text.join('\n')
}

interface Line {
  readonly label: string
  readonly names: readonly string[]
  /** How many of the names are written out. */
  shown: number
}

function groupBySource(deferred: Iterable<Entry>): { label: string; names: string[] }[] {
  const groups = new Map<string, string[]>()
  for (const { source, listing } of deferred) {
    const label = sourceLabel(source)
    const names = groups.get(label)
    if (names) names.push(listing.ownName)
    else groups.set(label, [listing.ownName])
  }
  return [...groups].map(([label, names]) => ({ label, names })).sort((a, b) => (a.label < b.label ? -1 : 1))
}

function sourceLabel(source: ToolSource): string {
  if (source.kind === 'mcp') return source.server
  if (source.kind === 'plugin') return `plugin ${source.plugin}`
  return 'built in'
}

/** First every source with its count, then one name of each in turn, until the budget is spent. */
function withinBudget(lines: readonly Line[], maxTokens: number): readonly Line[] {
  let left = maxTokens
  const kept: Line[] = []
  for (const line of lines) {
    left -= estimateTokens(writeLine(line)) + 1
    if (left < 0 && kept.length > 0) return kept
    kept.push(line)
  }
  for (let round = 0; kept.some(({ names }) => names.length > round); round++) {
    for (const line of kept) {
      const name = line.names[round]
      if (name === undefined) continue
      left -= estimateTokens(name) + 2
      if (left < 0) return kept
      line.shown = round + 1
    }
  }
  return kept
}

function writeLine({ label, names, shown }: Line): string {
  const count = `- ${label} (${names.length})`
  if (shown === 0) return count
  const rest = shown < names.length ? ', …' : ''
  return `${count}: ${names.slice(0, shown).join(', ')}${rest}`
}
