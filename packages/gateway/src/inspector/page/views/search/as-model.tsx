import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { whole } from '../../format.ts'
import { Card } from '../../ui/card.tsx'
import { NameList } from '../../ui/name-list.tsx'
import { Failed } from '../../ui/state.tsx'
import { LongText } from '../../ui/visible-text.tsx'

type Outcome = Output<'search-as-model'>

/** The same search through the search tool of a session: what it activates and evicts, and what the model reads. */
export function AsModel({ query }: { readonly query: string }) {
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState<string>()
  const run = () =>
    tell('search-as-model', { query }).then(
      (found) => {
        setError(undefined)
        setOutcome(found)
      },
      (failure: Error) => setError(failure.message),
    )
  const reset = () =>
    tell('reset-search').then(
      () => setOutcome(undefined),
      (failure: Error) => setError(failure.message),
    )
  return (
    <Card
      title="As a model would"
      aside={
        <div class="row">
          <button type="button" class="button primary" onClick={run}>
            Search and check out
          </button>
          {outcome && (
            <button type="button" class="button" onClick={reset}>
              Give all back
            </button>
          )}
        </div>
      }
    >
      {error !== undefined && <Failed error={error} />}
      {!outcome && (
        <p class="muted">
          Searches in a session of this page, as a model would: matches are checked out, and others are
          evicted when there is no room.
        </p>
      )}
      {outcome && !outcome.isNeeded && <p>Every tool is shown already, so a model needs no search here.</p>}
      {outcome?.isNeeded && <Result outcome={outcome} />}
    </Card>
  )
}

function Result({ outcome }: { readonly outcome: Extract<Outcome, { isNeeded: true }> }) {
  const { activated, evicted, active, answer } = outcome
  const before = active.filter((name) => !activated.includes(name))
  return (
    <div class="stack">
      <div class="columns narrow">
        <NameList
          title="Activated now"
          names={activated}
          none="Nothing new: it was active, or too weak a match."
        />
        <NameList title="Evicted" names={evicted} none="Nothing was evicted." />
        <NameList title="Checked out before" names={before} none="Nothing." />
      </div>
      <details>
        <summary class="small muted">What the model reads ({whole(answer.length)} characters)</summary>
        <LongText text={answer} />
      </details>
    </div>
  )
}
