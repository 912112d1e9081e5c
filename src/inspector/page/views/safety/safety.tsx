import { useState } from 'preact/hooks'
import type { NamedChange } from '../../../api/safety.ts'
import { tell } from '../../api-client.ts'
import { plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Failed, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Change } from './change.tsx'
import { Coverage } from './coverage.tsx'
import { Findings } from './findings.tsx'

/** What changed since it was approved, what looks suspicious, and what the lock covers. */
export function Safety() {
  const loaded = useApi(
    'safety',
    {},
    {
      after: ['tool-quarantined', 'tool-released', 'server-synced', 'server-state', 'tool-suspicious'],
    },
  )
  const [error, setError] = useState<string>()
  const [note, setNote] = useState('')
  const approve = async (patterns: readonly string[]) => {
    try {
      const { approved } = await tell('approve', { patterns })
      setError(undefined)
      setNote(
        approved === 0
          ? 'It changed again meanwhile; look once more.'
          : `Approved ${plural(approved, 'change')}.`,
      )
    } catch (failure) {
      setError((failure as Error).message)
    }
    loaded.reload()
  }
  return (
    <>
      <Head title="Safety">
        A tool whose definition is not the one you approved is held back: no model sees, finds or calls it
        until you decide.
      </Head>
      <Show of={loaded}>
        {({ changes, isLocked, canApprove, findings, coverage, lockPath, warnings, lockCommand }) => {
          const approvable = changes.filter((change) => 'tool' in change)
          return (
            <div class="stack">
              {warnings.map((warning) => (
                <div key={warning} class="note warn wrap">
                  {warning}
                </div>
              ))}
              {error !== undefined && <Failed error={error} />}
              <Card
                title={<>Changes {changes.length > 0 && <Badge tone="bad">{changes.length}</Badge>}</>}
                aside={
                  approvable.length > 1 &&
                  canApprove && (
                    <button
                      type="button"
                      class="button"
                      onClick={() => approve(approvable.map(({ pattern }) => pattern))}
                    >
                      Approve all {approvable.length} as shown
                    </button>
                  )
                }
              >
                <p class="small status" role="status">
                  {note}
                </p>
                {!isLocked && (
                  <div class="stack">
                    <p class="muted">
                      There is no lockfile, so nothing is compared. Run this once; from then on a server that
                      changes its tools is held back:
                    </p>
                    <Copyable text={lockCommand} />
                  </div>
                )}
                {isLocked && changes.length === 0 && <p class="muted">Every server is as approved.</p>}
                <ul class="list">
                  {[...changes].sort(byConcern).map((change) => (
                    <Change
                      key={change.pattern}
                      change={change}
                      onApprove={canApprove ? approve : undefined}
                    />
                  ))}
                </ul>
              </Card>
              <div class="columns">
                <Findings findings={findings} />
                <Coverage coverage={coverage} lockPath={isLocked ? lockPath : null} />
              </div>
            </div>
          )
        }}
      </Show>
    </>
  )
}

const CONCERN: readonly NamedChange['kind'][] = [
  'command-changed',
  'tool-changed',
  'server-added',
  'tool-added',
]

/** What was approved once and is different now comes first. */
function byConcern(first: NamedChange, second: NamedChange): number {
  const rank = ({ kind }: NamedChange) => (CONCERN.includes(kind) ? CONCERN.indexOf(kind) : CONCERN.length)
  return rank(first) - rank(second)
}
