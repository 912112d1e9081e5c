/** One column: its parts from the bottom up, each with a colour of the series. */
export interface Column {
  readonly label: string
  readonly parts: readonly { readonly series: number; readonly value: number }[]
}

/** Columns over time. The table of the same figures is for those who cannot see it. */
export function Bars({ columns, label }: { readonly columns: readonly Column[]; readonly label: string }) {
  const most = Math.max(1, ...columns.map(sumOf))
  return (
    <figure>
      <div class="bars" role="img" aria-label={label}>
        {columns.map((column) => (
          <span key={column.label} title={`${column.label}: ${sumOf(column)}`}>
            {column.parts.map(({ series, value }) => (
              <i key={series} class={`s${series}`} style={{ height: `${(100 * value) / most}%` }} />
            ))}
          </span>
        ))}
      </div>
      <div class="axis" aria-hidden="true">
        <span>{columns[0]?.label}</span>
        <span>{columns.at(-1)?.label}</span>
      </div>
    </figure>
  )
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
          <i class={`s${series % 8}`} /> {name}
        </li>
      ))}
    </ul>
  )
}

const SERIES = 8

/** Returns the colour of each source: the same in every view that shows the same sources. */
export function seriesOf(sources: readonly string[]): (source: string) => number {
  const sorted = [...new Set(sources)].sort()
  return (source) => sorted.indexOf(source) % SERIES
}
