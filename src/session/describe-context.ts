import { sourceKey } from '../names.ts'
import type { Entry } from '../registry/entry.ts'
import type { TokenCounter } from '../text.ts'
import type { Activation } from './activations.ts'
import { hiddenCount, type SurfaceParts } from './surface.ts'

export interface ContextOptions {
  readonly activations: readonly Activation[]
  readonly maxActive: number
  /** Active tools whose definition is not the one they were checked out with. */
  readonly changed: readonly string[]
  /** Absent: figures are estimates and marked `~`. */
  readonly countTokens?: TokenCounter | undefined
}

/** What a session shows and what that costs, as a few lines of text for a person. */
export function describeContext(parts: SurfaceParts, options: ContextOptions): string {
  const { countTokens } = options
  const mark = countTokens ? '' : '~'
  const tokensOf = (entries: readonly Entry[]) => {
    const counts = entries.map((entry) => countTokens?.(JSON.stringify(entry.definition)) ?? entry.tokens)
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const onSurface = [...parts.shown, ...(parts.strategy === 'append' ? parts.activated : [])]
  const figure = (tokens: number) => `${mark}${tokens.toLocaleString('en-US')} tokens`
  const metaTokens = tokensOf(parts.metaTools)
  const shownTokens = tokensOf(onSurface) + metaTokens
  const fullTokens = tokensOf([...parts.shown, ...parts.view.deferred.values()])
  const saved = Math.max(0, fullTokens - shownTokens)
  const percent = fullTokens === 0 ? 0 : Math.floor((100 * saved) / fullTokens)
  const lines = [
    ...activeLines(parts, options),
    `Tools shown: ${onSurface.length + parts.metaTools.length}, deferred: ${hiddenCount(parts)}, strategy: ${parts.strategy}`,
    ...[...bySource(onSurface)].map(
      ([source, entries]) => `  ${source}: ${toolCount(entries.length)}, ${figure(tokensOf(entries))}`,
    ),
    ...(parts.metaTools.length > 0
      ? [`  meta-tools: ${toolCount(parts.metaTools.length)}, ${figure(metaTokens)}`]
      : []),
    `This turn: ${figure(shownTokens)}; all tools would be ${figure(fullTokens)}; saved ${figure(saved)} (${percent} %)`,
  ]
  return lines.join('\n')
}

/** `MCP active: 2/24 (a, b)`; preloaded tools and those that are not from a server have their own lines. */
function activeLines(parts: SurfaceParts, { activations, changed, maxActive }: ContextOptions): string[] {
  const kept = new Set(activations.filter(({ isKept }) => isKept).map(({ name }) => name))
  const capped = parts.activated.filter(({ name }) => !kept.has(name))
  const mcp = capped.filter(({ source }) => source.kind === 'mcp').map(({ name }) => name)
  const others = capped.filter(({ source }) => source.kind !== 'mcp').map(({ name }) => name)
  const limit = maxActive === 0 ? '∞' : String(maxActive)
  return [
    `MCP active: ${mcp.length}/${limit}${mcp.length > 0 ? ` (${mcp.join(', ')})` : ''}`,
    ...(others.length > 0 ? [`Other active: ${others.join(', ')}`] : []),
    ...(changed.length > 0 ? [`Changed since they were activated: ${changed.join(', ')}`] : []),
    ...(kept.size > 0 ? [`Preloaded: ${[...kept].join(', ')}`] : []),
  ]
}

function bySource(entries: readonly Entry[]): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const key = sourceKey(entry.source)
    const group = groups.get(key)
    if (group) group.push(entry)
    else groups.set(key, [entry])
  }
  return groups
}

function toolCount(count: number): string {
  return `${count} ${count === 1 ? 'tool' : 'tools'}`
}
