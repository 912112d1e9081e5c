import { mean } from '../../packages/toolcrib/src/eval/figures.ts'
import { type Figures, keptAside, LEFT_OUT } from './measure-case.ts'

/** The results of every searcher on one case. */
export interface CaseResult {
  readonly name: string
  readonly figures: readonly Figures[]
}

const SERIES = [
  { name: 'weighted', label: 'weighted' },
  { name: 'MiniSearch, boosted', label: 'MiniSearch, boosted' },
  { name: 'lexical', label: 'lexical' },
  { name: 'hybrid', label: 'hybrid, never trained on these queries' },
] as const
type Series = (typeof SERIES)[number]['name']

const WIDTH = 820
const LEFT = 250
const RIGHT = 70
const TOP = 86
const ROW = 36
const BOTTOM = 74
const DOT = 6

/**
 * Draws recall@5 by case as an SVG: one row per case, one dot per searcher, and for `hybrid` the 95 % confidence
 * interval. For `hybrid`, only figures on queries that its embedder never saw are drawn; the row says which kind.
 */
export function recallPlot(results: readonly CaseResult[]): string {
  const rows = results.flatMap(toRow)
  const meanRow = toMeanRow(rows)
  const height = TOP + (rows.length + 1) * ROW + BOTTOM
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(describe(meanRow))}">
<style>${STYLE}</style>
<text class="title" x="24" y="32">The right tools among the first five</text>
${legend()}
${grid(rows.length + 1)}
${[...rows, meanRow].map(drawRow).join('\n')}
<text class="muted" x="24" y="${height - 34}">Recall@5 in %. Bars: where hybrid lies with 95 % confidence. “left out”: its embedder saw neither queries nor tools of the set;</text>
<text class="muted" x="24" y="${height - 16}">“kept aside”: not these queries. Harvested: tools of published MCP servers, queries of our own. npm run bench -- recall --plot</text>
</svg>
`
}

interface Row {
  readonly label: string
  readonly note: string
  readonly shares: Readonly<Record<Series, number>>
  readonly interval?: readonly [number, number]
}

function toRow({ name, figures }: CaseResult): Row[] {
  const find = (searcher: string) => figures.find((one) => one.searcher === searcher)
  const leftOut = find(LEFT_OUT)
  const aside = find(keptAside('hybrid'))
  const hybrid = leftOut ?? aside ?? find('hybrid')
  if (hybrid === undefined) return []
  // All on the same queries.
  const share = (searcher: Series) =>
    find(hybrid === aside ? keptAside(searcher) : searcher)?.recall['5'] ?? 0
  return [
    {
      label: name,
      note: `${hybrid.searcher.replace(/^hybrid(, )?/, '')} · ${hybrid.queries} queries`.replace(/^ · /, ''),
      shares: {
        weighted: share('weighted'),
        'MiniSearch, boosted': share('MiniSearch, boosted'),
        lexical: share('lexical'),
        hybrid: hybrid.recall['5'],
      },
      interval: hybrid.recall5Interval,
    },
  ]
}

function toMeanRow(rows: readonly Row[]): Row {
  const over = (series: Series) => mean(rows.map(({ shares }) => shares[series]))
  return {
    label: 'mean',
    note: `${rows.length} sets`,
    shares: {
      weighted: over('weighted'),
      'MiniSearch, boosted': over('MiniSearch, boosted'),
      lexical: over('lexical'),
      hybrid: over('hybrid'),
    },
  }
}

function describe({ shares }: Row): string {
  const told = SERIES.map(({ name }) => `${name} ${percent(shares[name])}`)
  return `Recall at five in per cent, mean of the sets: ${told.join('; ')}`
}

function legend(): string {
  let x = 24
  return SERIES.map(({ name, label }) => {
    const item = `<circle class="${classOf(name)}" cx="${x + DOT}" cy="56" r="${DOT}"/><text class="label" x="${x + 3 * DOT}" y="60.5">${label}</text>`
    x += 3 * DOT + label.length * 6.9 + 22
    return item
  }).join('\n')
}

function grid(rows: number): string {
  const bottom = TOP + rows * ROW
  return [0, 20, 40, 60, 80, 100]
    .map((value) => {
      const x = scaled(value / 100)
      return `<line class="grid" x1="${x}" y1="${TOP}" x2="${x}" y2="${bottom}"/><text class="tick" x="${x}" y="${bottom + 16}">${value}</text>`
    })
    .join('\n')
}

function drawRow({ label, note, shares, interval }: Row, at: number): string {
  const y = TOP + at * ROW + ROW / 2
  const values = SERIES.map(({ name }) => shares[name])
  const spread = `<line class="spread" x1="${scaled(Math.min(...values))}" y1="${y}" x2="${scaled(Math.max(...values))}" y2="${y}"/>`
  const range = interval
    ? `<rect class="range" x="${scaled(interval[0])}" y="${y - 4}" width="${round(scaled(interval[1]) - scaled(interval[0]))}" height="8" rx="4"/>`
    : ''
  const dots = SERIES.map(
    ({ name }) => `<circle class="${classOf(name)}" cx="${scaled(shares[name])}" cy="${y}" r="${DOT}"/>`,
  )
  return [
    `<g${label === 'mean' ? ' class="mean"' : ''}>`,
    `<text class="name" x="${LEFT - 18}" y="${y - 1}">${escaped(label)}</text>`,
    `<text class="note" x="${LEFT - 18}" y="${y + 12}">${escaped(note)}</text>`,
    spread,
    range,
    ...dots,
    `<text class="value" x="${WIDTH - RIGHT + 18}" y="${y + 5}">${percent(shares.hybrid)}</text>`,
    '</g>',
  ].join('')
}

const STYLE = `
text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #1f2328; font-size: 13px }
.title { font-size: 18px; font-weight: 600 }
.name { text-anchor: end; font-weight: 500 }
.note, .tick, .muted { fill: #656d76; font-size: 11px }
.note { text-anchor: end; font-size: 10px }
.tick { text-anchor: middle }
.value { fill: #0969da; font-weight: 600 }
.mean text { font-weight: 700 }
.grid { stroke: #d0d7de; stroke-width: 1; stroke-dasharray: 2 3 }
.spread { stroke: #d0d7de; stroke-width: 2 }
.range { fill: #0969da; opacity: 0.22 }
.weighted { fill: #afb8c1 }
.minisearch { fill: #d4a72c }
.lexical { fill: #2da44e }
.hybrid { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note, .tick, .muted { fill: #8d96a0 }
  .value { fill: #58a6ff }
  .grid, .spread { stroke: #30363d }
  .range { fill: #58a6ff; opacity: 0.3 }
  .weighted { fill: #6e7681 }
  .minisearch { fill: #d29922 }
  .lexical { fill: #3fb950 }
  .hybrid { fill: #58a6ff }
}
`

function classOf(name: Series): string {
  return name === 'MiniSearch, boosted' ? 'minisearch' : name
}

function scaled(share: number): number {
  return round(LEFT + share * (WIDTH - LEFT - RIGHT))
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function percent(share: number): string {
  return (100 * share).toFixed(1)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
