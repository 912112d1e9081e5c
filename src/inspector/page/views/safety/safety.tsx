import { useState } from 'preact/hooks'
import type { NamedChange } from '../../../api/safety.ts'
import { tell } from '../../api-client.ts'
import { plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Failed, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Change, isOfServer } from './change.tsx'
import { Coverage } from './coverage.tsx'
import { Findings } from './findings.tsx'
import { bySuspect, type Suspect, suspectOf } from './suspects.ts'

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
          ? 'It has changed again; please review it once more.'
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
          const suspects = bySuspect(findings)
          return (
            <div class="stack">
              {warnings.map((warning) => (
                <div key={warning} class="note warn wrap">
                  {warning}
                </div>
              ))}
              {error !== undefined && <Failed error={error} />}
              {!isLocked && coverage.length > 0 && <NoLock command={lockCommand} />}
              {isLocked && (
                <ToolChanges
                  changes={changes.filter((change) => !isOfServer(change))}
                  suspects={suspects}
                  onApprove={canApprove ? approve : undefined}
                  asleep={coverage.filter(({ isAsleep }) => isAsleep).length}
                  note={note}
                />
              )}
              <ServerChanges changes={changes.filter(isOfServer)} />
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

/** Tools that differ from their approval: the user compares and approves them here. */
function ToolChanges({
  changes,
  suspects,
  onApprove,
  asleep,
  note,
}: {
  readonly changes: readonly NamedChange[]
  readonly suspects: readonly Suspect[]
  readonly onApprove: ((patterns: readonly string[]) => void) | undefined
  /** How many servers have not started yet: their lists come from the cache. */
  readonly asleep: number
  readonly note: string
}) {
  return (
    <Card
      title={<Counted title="Changed tools" count={changes.length} />}
      aside={
        onApprove &&
        changes.length > 1 && (
          <button
            type="button"
            class="button"
            onClick={() => onApprove(changes.map(({ pattern }) => pattern))}
          >
            Approve all {changes.length} as shown
          </button>
        )
      }
    >
      <p class="small status" role="status">
        {note}
      </p>
      {changes.length === 0 && (
        <p class="muted">
          Every tool is as approved.
          {asleep > 0 &&
            ` ${plural(asleep, 'server')} ${asleep === 1 ? 'is' : 'are'} asleep, and will be compared when started.`}
        </p>
      )}
      <ul class="list">
        {[...changes].sort(byConcern).map((change) => (
          <Change
            key={change.pattern}
            change={change}
            suspect={'tool' in change ? suspectOf(suspects, change) : undefined}
            onApprove={onApprove}
          />
        ))}
      </ul>
    </Card>
  )
}

/** Servers that were not approved, or would run something else: they can be approved only in a terminal. */
function ServerChanges({ changes }: { readonly changes: readonly NamedChange[] }) {
  if (changes.length === 0) return null
  return (
    <Card title={<Counted title="Servers that wait for approval" count={changes.length} />}>
      <div class="stack">
        <p class="muted">
          A server decides what your machine runs or reaches, so it is not approved on a web page. Look at
          each; if you trust it, run the line below it in a terminal.
        </p>
        <ul class="list">
          {[...changes].sort(byConcern).map((change) => (
            <Change key={change.pattern} change={change} suspect={undefined} onApprove={undefined} />
          ))}
        </ul>
      </div>
    </Card>
  )
}

function NoLock({ command }: { readonly command: string }) {
  return (
    <Card title="No lockfile">
      <div class="stack">
        <p class="muted">
          Nothing is compared yet. Run this once; from then on a server that changes its tools is held back:
        </p>
        <Copyable text={command} />
      </div>
    </Card>
  )
}

function Counted({ title, count }: { readonly title: string; readonly count: number }) {
  return (
    <>
      {title} {count > 0 && <Badge tone="warn">{count}</Badge>}
    </>
  )
}

const CONCERN: readonly NamedChange['kind'][] = [
  'command-changed',
  'tool-changed',
  'server-added',
  'tool-added',
]

/** What was approved once and has changed comes first. */
function byConcern(first: NamedChange, second: NamedChange): number {
  const rank = ({ kind }: NamedChange) => (CONCERN.includes(kind) ? CONCERN.indexOf(kind) : CONCERN.length)
  return rank(first) - rank(second)
}
