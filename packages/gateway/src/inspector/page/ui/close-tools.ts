interface Named {
  readonly name: string
}

const NEAREST = 3

/** The tools with all these words in their names, in any spelling of `server.tool`; the best match comes first. */
export function closeTools<Tool extends Named>(tools: readonly Tool[], text: string): Tool[] {
  const wanted = plain(text)
  if (wanted === '') return [...tools]
  const words = text.split(/\s+/).map(plain).filter(Boolean)
  const ranked = tools.flatMap((tool) => {
    const rank = rankOf(tool.name, wanted, words)
    return rank === undefined ? [] : [{ tool, rank }]
  })
  return ranked
    .sort((first, second) => first.rank - second.rank || first.tool.name.length - second.tool.name.length)
    .map(({ tool }) => tool)
}

/** A few names that share the most letter pairs with a text that no name contains. */
export function nearestNames(tools: readonly Named[], text: string): string[] {
  const wanted = pairsOf(text)
  return tools
    .map(({ name }) => ({ name, alike: likeness(wanted, pairsOf(ownName(name))) }))
    .filter(({ alike }) => alike > 0)
    .sort((first, second) => second.alike - first.alike)
    .slice(0, NEAREST)
    .map(({ name }) => name)
}

function rankOf(name: string, wanted: string, words: readonly string[]): number | undefined {
  const whole = plain(name)
  const own = plain(ownName(name))
  if (own === wanted || whole === wanted || whole === `mcp${wanted}`) return 0
  if (own.startsWith(wanted)) return 1
  if (own.includes(wanted)) return 2
  return whole.includes(wanted) || words.every((word) => whole.includes(word)) ? 3 : undefined
}

function ownName(name: string): string {
  return name.replace(/^mcp__.+?__/s, '')
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

function pairsOf(text: string): ReadonlySet<string> {
  const letters = plain(text).slice(0, 100)
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)),
  )
}

function likeness(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  const shared = [...first].filter((pair) => second.has(pair)).length
  return (2 * shared) / Math.max(1, first.size + second.size)
}
