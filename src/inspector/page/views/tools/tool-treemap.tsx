import { useMemo } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { plural, short } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { treemap } from '../../ui/treemap-layout.ts'

/** How wide the map is for its height, roughly; only the shape of tiles depends on it. */
const SHAPE = { width: 100, height: 26 }
const MAX_TILES = 80

/** Sources by their tokens; within one source, its tools. */
export function ToolTreemap({
  tools,
  sources,
  onSource,
  isOneSource,
}: {
  readonly tools: readonly ListedTool[]
  readonly sources: readonly string[]
  readonly onSource: (source: string) => void
  readonly isOneSource: boolean
}) {
  const tiles = useMemo(() => layOut(tools, sources, isOneSource), [tools, sources, isOneSource])
  return (
    <div class="treemap">
      {tiles.map(({ item, x, y, width, height }) => (
        <a
          key={item.key}
          class={`s${item.series}`}
          href={
            item.tool === undefined ? linkTo('tools', `source:${item.source}`) : linkTo('tools', item.tool)
          }
          onClick={() => item.tool === undefined && onSource(item.source)}
          title={`${item.label}: ${short(item.tokens)} tokens`}
          style={{ left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${height}%` }}
        >
          <b>{item.label}</b>
          {height > 16 && width > 7 && `${short(item.tokens)} tokens`}
          {height > 30 && width > 9 && item.tool === undefined && <div>{plural(item.count, 'tool')}</div>}
        </a>
      ))}
    </div>
  )
}

interface Item {
  readonly key: string
  readonly label: string
  readonly source: string
  readonly tool: string | undefined
  readonly tokens: number
  readonly count: number
  readonly series: number
}

function layOut(tools: readonly ListedTool[], sources: readonly string[], isOneSource: boolean) {
  const items = isOneSource ? tools.map((tool) => toolItem(tool, sources)) : sourceItems(tools, sources)
  const largest = items.sort((first, second) => second.tokens - first.tokens).slice(0, MAX_TILES)
  return treemap(largest, ({ tokens }) => tokens, SHAPE)
}

function toolItem({ name, ownName, source, tokens }: ListedTool, sources: readonly string[]): Item {
  return {
    key: name,
    label: ownName,
    source,
    tool: name,
    tokens,
    count: 1,
    series: sources.indexOf(source) % 8,
  }
}

function sourceItems(tools: readonly ListedTool[], sources: readonly string[]): Item[] {
  const bySource = new Map<string, { tokens: number; count: number }>()
  for (const { source, tokens } of tools) {
    const sum = bySource.get(source) ?? { tokens: 0, count: 0 }
    bySource.set(source, { tokens: sum.tokens + tokens, count: sum.count + 1 })
  }
  return [...bySource].map(([source, sum]) => ({
    key: source,
    label: source,
    source,
    tool: undefined,
    series: sources.indexOf(source) % 8,
    ...sum,
  }))
}
