import type { Output } from '../../../api/routes.ts'
import { about, clock, whole } from '../../format.ts'
import { Card } from '../../ui/card.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { wholeOf } from './compare-turns.tsx'
import { Timeline } from './timeline.tsx'
import { Turns } from './turns.tsx'

export type SessionData = Output<'session'>

/** One conversation: its figures, its turns, its steps. */
export function SessionPage({ id }: { readonly id: string }) {
  const loaded = useApi(
    'session',
    { id },
    {
      after: [
        'surfaced',
        'searched',
        'activated',
        'evicted',
        'call-finished',
        'missed',
        'script-started',
        'script-paused',
        'script-ended',
      ],
    },
  )
  return (
    <Show of={loaded}>
      {(session) => (
        <div class="stack">
          <Figures session={session} />
          <Turns turns={session.turns} />
          <Card title="Step by step" aside={<span class="small muted">since {clock(session.openedAt)}</span>}>
            <Timeline steps={session.steps} />
          </Card>
        </div>
      )}
    </Show>
  )
}

function Figures({ session: { totals, active, turns } }: { readonly session: SessionData }) {
  return (
    <Card label="Figures">
      <div class="figures">
        <Figure isSmall value={whole(totals.turns)} name="turns" />
        <Figure isSmall value={shownIn(turns, totals)} name="tokens shown" />
        <Figure isSmall value={about(totals.saved)} name="tokens saved" />
        <Figure isSmall value={whole(active.length)} name="tools checked out" />
        <Figure isSmall value={whole(totals.errors)} name="failed calls" isBad={totals.errors > 0} />
      </div>
    </Card>
  )
}

/** Everything shown in a session; exact while every turn is known exactly. */
function shownIn(turns: SessionData['turns'], totals: SessionData['totals']): string {
  const isExact = turns.length === totals.turns && turns.every((turn) => turn.isExact)
  if (!isExact) return about(totals.shown)
  return whole(turns.reduce((sum, turn) => sum + wholeOf(turn).tokens, 0))
}
