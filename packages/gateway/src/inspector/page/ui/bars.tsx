import { whole } from '../format.ts'

/** One column: its parts from the bottom up, each with a colour of the series. */
export interface Column {
  readonly label: string
  readonly parts: readonly { readonly series: number; readonly name: string; readonly value: number }[]
}

/** About as many labels as fit under the columns of a card. */
const LABELS = 5

/** Columns over time, with the largest figure beside them. */
export function Bars({ columns, label }: { readonly columns: readonly Column[]; readonly label: string }) {
  const most = Math.max(1, ...columns.map(sumOf))
  const step = Math.max(1, Math.ceil((columns.length - 1) / (LABELS - 1)))
  return (
    <figure class="chart">
      <span class="small muted number" aria-hidden="true">
        {whole(most)}
      </span>
      <div class="bars" role="img" aria-label={label}>
        {columns.map((column) => (
          <span key={column.label} title={describe(column)}>
            {column.parts.map(({ series, value }) => (
              <i key={series} class={`s${series}`} style={{ height: `${(100 * value) / most}%` }} />
            ))}
          </span>
        ))}
      </div>
      <div class="axis" aria-hidden="true">
        {columns.map((column, at) => (
          <span key={column.label}>
            {(columns.length - 1 - at) % step === 0 && <span>{column.label}</span>}
          </span>
        ))}
      </div>
    </figure>
  )
}

/** 14:00: 3 tool calls, 4 searches */
function describe({ label, parts }: Column): string {
  const some = parts.filter(({ value }) => value > 0).map(({ name, value }) => `${whole(value)} ${name}`)
  return `${label}: ${some.join(', ') || 'nothing'}`
}

function sumOf({ parts }: Column): number {
  return parts.reduce((sum, { value }) => sum + value, 0)
}

export function Legend({
  entries,
}: {
  readonly entries: readonly { readonly series: number; readonly name: string }[]
}) {
  return (
    <ul class="legend">
      {entries.map(({ series, name }) => (
        <li key={name}>
          <i class={`s${series}`} /> {name}
        </li>
      ))}
    </ul>
  )
}

const SERIES = 12

/** Returns the colour of each source: the same in every view that shows the same sources. */
export function seriesOf(sources: readonly string[]): (source: string) => number {
  const sorted = [...new Set(sources)].sort()
  return (source) => sorted.indexOf(source) % SERIES
}
