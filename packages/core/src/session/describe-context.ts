import { isMetaTool, sourceKey } from '../names.ts'
import { measureDefinition } from '../registry/entry.ts'
import type { TokenCounter } from '../text.ts'
import type { ToolDefinition } from '../tool.ts'
import type { Activation } from './activations.ts'
import { hiddenCount, type SurfaceParts } from './surface.ts'

export interface ContextOptions {
  readonly activations: readonly Activation[]
  readonly maxActive: number
  /** Active tools whose definition is not the one they were checked out with. */
  readonly changed: readonly string[]
  /** The tools of the conversation's first request, which later ones repeat; undefined before it. */
  readonly sent?: readonly ToolDefinition[] | undefined
  /** Absent: figures are estimates and marked `~`. */
  readonly countTokens?: TokenCounter | undefined
}

/** What a session shows and what that costs, as a few lines of text for a person. */
export function describeContext(parts: SurfaceParts, options: ContextOptions): string {
  const { countTokens } = options
  const mark = countTokens ? '' : '~'
  const tokensOf = (definitions: readonly ToolDefinition[]) => {
    const counts = definitions.map(
      (definition) => countTokens?.(JSON.stringify(definition)) ?? measureDefinition(definition).tokens,
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const figure = (tokens: number) => `${mark}${tokens.toLocaleString('en-US')} tokens`
  const onSurface = shownTools(parts, options)
  const shownTokens = tokensOf(onSurface)
  const all = [...parts.shown, ...parts.view.deferred.values()]
  const fullTokens = countTokens
    ? tokensOf(all.map(({ definition }) => definition))
    : all.reduce((sum, { tokens }) => sum + tokens, 0)
  const saved = Math.max(0, fullTokens - shownTokens)
  const percent = fullTokens === 0 ? 0 : Math.floor((100 * saved) / fullTokens)
  const lines = [
    ...activeLines(parts, options),
    `Tools shown: ${onSurface.length}, deferred: ${hiddenCount(parts)}, strategy: ${parts.strategy}`,
    ...[...bySource(onSurface, parts)].map(
      ([source, definitions]) =>
        `  ${source}: ${toolCount(definitions.length)}, ${figure(tokensOf(definitions))}`,
    ),
    `This turn: ${figure(shownTokens)}; all tools would be ${figure(fullTokens)}; saved ${figure(saved)} (${percent} %)`,
  ]
  return lines.join('\n')
}

/** What the next request declares: the tools of the first one, with those that have left, unless more has to be shown. */
function shownTools(parts: SurfaceParts, { sent }: ContextOptions): readonly ToolDefinition[] {
  const sentNames = new Set(sent?.map(({ name }) => name))
  if (sent && parts.shown.every(({ name }) => sentNames.has(name))) return sent
  const activated = parts.strategy === 'append' ? parts.activated : []
  return [...parts.shown, ...activated, ...parts.metaTools].map(({ definition }) => definition)
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

/** Groups definitions by source; meta-tools and tools that have left come last. */
function bySource(
  definitions: readonly ToolDefinition[],
  { view }: SurfaceParts,
): ReadonlyMap<string, readonly ToolDefinition[]> {
  const sources = new Map<string, ToolDefinition[]>()
  const metaTools: ToolDefinition[] = []
  const left: ToolDefinition[] = []
  for (const definition of definitions) {
    const entry = view.snapshot.get(definition.name)
    if (isMetaTool(definition.name)) metaTools.push(definition)
    else if (!entry) left.push(definition)
    else {
      const key = sourceKey(entry.source)
      const group = sources.get(key)
      if (group) group.push(definition)
      else sources.set(key, [definition])
    }
  }
  if (metaTools.length > 0) sources.set('meta-tools', metaTools)
  if (left.length > 0) sources.set('no longer registered', left)
  return sources
}

function toolCount(count: number): string {
  return `${count} ${count === 1 ? 'tool' : 'tools'}`
}
