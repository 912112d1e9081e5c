import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { seriesOf } from '../../ui/bars.tsx'
import { type Tile, treemap } from '../../ui/treemap-layout.ts'

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
  const box = useRef<HTMLUListElement>(null)
  const [shape, setShape] = useState({ width: 960, height: 300 })
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const observer = new ResizeObserver(() =>
      setShape({ width: element.clientWidth, height: element.clientHeight }),
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const series = useMemo(() => seriesOf(sources), [sources])
  const tiles = useMemo(() => layOut(tools, shape), [tools, shape])
  return (
    <ul class="treemap" ref={box}>
      {tiles.map(({ item, ...place }) => (
        <li key={item.source} style={styleOf(place)}>
          {hasRoomForName(inPixels(place, shape)) && (
            <a class="source truncate" href={linkTo('tools', '', { source: item.source })}>
              <i class={`s${series(item.source)}`} />
              <b>{item.source}</b> <span class="muted tabular">{whole(item.tokens)}</span>
            </a>
          )}
          <ul>
            {item.tiles.map((tile) => (
              <ToolTile
                key={tile.item.name}
                tile={tile}
                series={series(item.source)}
                within={inPixels(place, shape)}
              />
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}

type Place = Omit<Tile<unknown>, 'item'>
type Shape = Pick<Place, 'width' | 'height'>

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
  readonly within: Shape
}) {
  const { width, height } = inPixels(place, within)
  const isNamed = width > 58 && height > 28
  return (
    <li style={styleOf(place)}>
      <a
        class={`tile s${series} ${isNamed ? 'named' : ''}`}
        href={linkTo('tools', item.name)}
        title={`${item.source} · ${item.ownName}: ${whole(item.tokens)} tokens`}
        aria-label={isNamed ? undefined : item.ownName}
        // The list below has the same links: hundreds of tiles would be in the way of those who use the keyboard.
        tabIndex={-1}
      >
        {isNamed && <span class="truncate">{withoutPrefix(item)}</span>}
        {isNamed && height > 46 && <span class="tabular">{whole(item.tokens)}</span>}
      </a>
    </li>
  )
}

/** `firecrawl_scrape` of the server `firecrawl` as `scrape`: the shared prefix is in the heading. */
function withoutPrefix({ ownName, source }: ListedTool): string {
  const isPrefixed = ownName.toLowerCase().startsWith(`${source.toLowerCase()}_`)
  return isPrefixed ? ownName.slice(source.length + 1) : ownName
}

function hasRoomForName({ width, height }: Shape): boolean {
  return width > 44 && height > 40
}

function layOut(tools: readonly ListedTool[], shape: Shape): Tile<SourceItem>[] {
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
  return treemap(largest, ({ tokens }) => tokens, shape).map(({ item, ...place }) => {
    const inner = inPixels(place, shape)
    const heaviest = [...item.tools].sort((first, second) => second.tokens - first.tokens).slice(0, MAX_TOOLS)
    return { item: { ...item, tiles: treemap(heaviest, ({ tokens }) => tokens, inner) }, ...place }
  })
}

function inPixels({ width, height }: Shape, whole: Shape): Shape {
  return { width: (width * whole.width) / 100, height: (height * whole.height) / 100 }
}

function styleOf({ x, y, width, height }: Place) {
  return { left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${height}%` }
}
