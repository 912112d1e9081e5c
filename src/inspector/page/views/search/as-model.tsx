import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { plural } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { ToolName } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Failed } from '../../ui/state.tsx'

type Outcome = Output<'search-as-model'>

/** The same search through the search tool of a session: what it checks out, what makes room, what the model reads. */
export function AsModel({ query }: { readonly query: string }) {
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState<string>()
  const run = () =>
    tell('search-as-model', { query }).then(setOutcome, (failure: Error) => setError(failure.message))
  const reset = async () => {
    await tell('reset-search')
    setOutcome(undefined)
  }
  return (
    <Card
      title="As a model would"
      aside={
        <div class="row">
          <button type="button" class="button primary" onClick={run}>
            Search and check out
          </button>
          <button type="button" class="button" onClick={reset}>
            Give all back
          </button>
        </div>
      }
    >
      {error !== undefined && <Failed error={error} />}
      {!outcome && (
        <p class="muted">
          Runs the search tool in a session of this page, and shows what is activated and what is evicted.
        </p>
      )}
      {outcome && !outcome.isNeeded && <p>Every tool is shown already, so a model needs no search here.</p>}
      {outcome?.isNeeded && <Result outcome={outcome} />}
    </Card>
  )
}

function Result({ outcome }: { readonly outcome: Extract<Outcome, { isNeeded: true }> }) {
  const { activated, evicted, active, answer, context } = outcome
  return (
    <div class="stack">
      <div class="columns">
        <Names
          title="Activated now"
          names={activated}
          none="Nothing new: it was active, or too weak a match."
        />
        <Names title="Evicted" names={evicted} none="Nothing had to make room." />
        <Names title={`${plural(active.length, 'tool')} checked out`} names={active} none="Nothing." />
      </div>
      <p class="small muted wrap prose">{context}</p>
      <details>
        <summary class="small muted">
          What the model reads ({answer.length.toLocaleString('en-US')} characters)
        </summary>
        <pre class="log">{answer.slice(0, 20_000)}</pre>
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
