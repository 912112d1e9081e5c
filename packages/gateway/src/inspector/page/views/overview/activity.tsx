import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { dayOf, toolCalls } from '../../format.ts'
import { Bars, Legend } from '../../ui/bars.tsx'
import { Card } from '../../ui/card.tsx'
import { Empty } from '../../ui/state.tsx'

/** No event is in two of them. */
const SERIES = [
  { series: 0, name: 'tool calls', of: (totals: Counted) => Math.max(0, toolCalls(totals) - totals.errors) },
  { series: 2, name: 'searches', of: (totals: Counted) => Math.max(0, totals.searches - totals.misses) },
  { series: 1, name: 'misses', of: (totals: Counted) => totals.misses },
  { series: 5, name: 'failed calls', of: (totals: Counted) => totals.errors },
] as const

type Counted = Output<'overview'>['today']

/** Searches, misses, calls and errors by hour or by day. */
export function Activity({ data: { hours, days } }: { readonly data: Output<'overview'> }) {
  const [span, setSpan] = useState<'hours' | 'days'>('hours')
  const columns =
    span === 'hours'
      ? hours.map((hour) => ({ label: hourOf(hour.at), parts: partsOf(hour) }))
      : days.map((day) => ({ label: dayOf(day.day), parts: partsOf(day) }))
  const isEmpty = columns.every(({ parts }) => parts.every(({ value }) => value === 0))
  return (
    <Card
      title="What happened"
      aside={
        <div class="switch">
          {(['hours', 'days'] as const).map((each) => (
            <button key={each} type="button" aria-pressed={span === each} onClick={() => setSpan(each)}>
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
  return SERIES.map(({ series, name, of }) => ({ series, name, value: of(totals) }))
}

function hourOf(at: number): string {
  return `${String(new Date(at).getHours()).padStart(2, '0')}:00`
}
