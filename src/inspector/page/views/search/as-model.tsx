import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { ToolName } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Failed } from '../../ui/state.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

const MAX_CHARACTERS = 20_000

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
        <Names
          title="Activated now"
          names={activated}
          none="Nothing new: it was active, or too weak a match."
        />
        <Names title="Evicted" names={evicted} none="Nothing was evicted." />
        <Names title="Checked out before" names={before} none="Nothing." />
      </div>
      <details>
        <summary class="small muted">What the model reads ({whole(answer.length)} characters)</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard. */}
        <pre class="log" tabIndex={0}>
          <VisibleText text={answer.slice(0, MAX_CHARACTERS)} />
        </pre>
      </details>
    </div>
  )
}

function Names({
  title,
  names,
  none,
}: {
  readonly title: string
  readonly names: readonly string[]
  readonly none: string
}) {
  return (
    <div>
      <h3>{title}</h3>
      {names.length === 0 ? (
        <p class="small muted">{none}</p>
      ) : (
        <ul>
          {names.map((name) => (
            <li key={name}>
              <a href={linkTo('tools', name)}>
                <ToolName name={name} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
