import { useMemo } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { short } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { type Tile, treemap } from '../../ui/treemap-layout.ts'

/** How wide the map is for its height, roughly; only the shape of tiles depends on it. */
const SHAPE = { width: 100, height: 28 }
const MAX_SOURCES = 40
const MAX_TOOLS = 60

/** Sources by their tokens, and within each its tools. */
export function ToolTreemap({
  tools,
  sources,
}: {
  readonly tools: readonly ListedTool[]
  readonly sources: readonly string[]
}) {
  const tiles = useMemo(() => layOut(tools), [tools])
  return (
    <ul class="treemap">
      {tiles.map(({ item, ...place }) => (
        <li key={item.source} style={styleOf(place)}>
          {place.width > 4 && (
            <a class="source truncate" href={linkTo('tools', `source:${item.source}`)}>
              <b>{item.source}</b> <span class="muted">{short(item.tokens)}</span>
            </a>
          )}
          <ul>
            {item.tiles.map((tile) => (
              <ToolTile
                key={tile.item.name}
                tile={tile}
                series={sources.indexOf(item.source) % 8}
                within={place}
              />
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}

type Place = Omit<Tile<unknown>, 'item'>

interface SourceItem {
  readonly source: string
  readonly tokens: number
  readonly tools: readonly ListedTool[]
  readonly tiles: readonly Tile<ListedTool>[]
}

function ToolTile({
  tile: { item, ...place },
  series,
  within,
}: {
  readonly tile: Tile<ListedTool>
  readonly series: number
  readonly within: Place
}) {
  const [width, height] = [(place.width * within.width) / 100, (place.height * within.height) / 100]
  return (
    <li style={styleOf(place)}>
      <a
        class={`tile s${series}`}
        href={linkTo('tools', item.name)}
        title={`${item.ownName}: ${short(item.tokens)} tokens`}
        aria-label={`${item.ownName}, ${short(item.tokens)} tokens`}
      >
        {width > 6 && height > 9 && <span class="truncate">{item.ownName}</span>}
        {width > 6 && height > 20 && <span>{short(item.tokens)}</span>}
      </a>
    </li>
  )
}

function layOut(tools: readonly ListedTool[]): Tile<SourceItem>[] {
  const bySource = new Map<string, ListedTool[]>()
  for (const tool of tools) {
    const own = bySource.get(tool.source)
    if (own) own.push(tool)
    else bySource.set(tool.source, [tool])
  }
  const items = [...bySource].map(([source, own]) => ({
    source,
    tools: own,
    tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
  }))
  const largest = items.sort((first, second) => second.tokens - first.tokens).slice(0, MAX_SOURCES)
  return treemap(largest, ({ tokens }) => tokens, SHAPE).map(({ item, ...place }) => {
    const shape = { width: place.width * SHAPE.width, height: place.height * SHAPE.height }
    const heaviest = [...item.tools].sort((first, second) => second.tokens - first.tokens).slice(0, MAX_TOOLS)
    return { item: { ...item, tiles: treemap(heaviest, ({ tokens }) => tokens, shape) }, ...place }
  })
}

function styleOf({ x, y, width, height }: Place) {
  return { left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${height}%` }
}
