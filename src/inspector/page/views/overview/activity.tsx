import { useState } from 'preact/hooks'
import { Bars, Legend } from '../../ui/bars.tsx'
import { Card } from '../../ui/card.tsx'
import { Empty } from '../../ui/state.tsx'
import type { OverviewData } from './overview.tsx'

const SERIES = [
  { series: 0, name: 'calls', of: (totals: Counted) => totals.calls - totals.errors },
  { series: 2, name: 'searches', of: (totals: Counted) => totals.searches },
  { series: 1, name: 'misses', of: (totals: Counted) => totals.misses },
  { series: 5, name: 'errors', of: (totals: Counted) => totals.errors },
] as const

type Counted = OverviewData['today']

/** Searches, misses, calls and errors by hour or by day. */
export function Activity({ data: { hours, days } }: { readonly data: OverviewData }) {
  const [span, setSpan] = useState<'hours' | 'days'>('hours')
  const columns =
    span === 'hours'
      ? hours.map((hour) => ({ label: hourOf(hour.at), parts: partsOf(hour) }))
      : days.map((day) => ({ label: day.day.slice(5), parts: partsOf(day) }))
  const isEmpty = columns.every(({ parts }) => parts.every(({ value }) => value === 0))
  return (
    <Card
      title="What happened"
      aside={
        <div class="row">
          {(['hours', 'days'] as const).map((each) => (
            <button
              key={each}
              type="button"
              class="button quiet"
              aria-pressed={span === each}
              onClick={() => setSpan(each)}
            >
              {each === 'hours' ? '24 hours' : '14 days'}
            </button>
          ))}
        </div>
      }
    >
      {isEmpty ? (
        <Empty title="Nothing yet">Searches and calls of your clients appear here.</Empty>
      ) : (
        <div class="stack">
          <Bars columns={columns} label={`Searches, misses, calls and errors by ${span.slice(0, -1)}`} />
          <Legend entries={SERIES} />
        </div>
      )}
    </Card>
  )
}

function partsOf(totals: Counted) {
  return SERIES.map(({ series, of }) => ({ series, value: of(totals) }))
}

function hourOf(at: number): string {
  return `${new Date(at).getHours()}:00`
}
