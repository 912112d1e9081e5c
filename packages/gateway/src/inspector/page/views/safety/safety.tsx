import { useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import type { NamedChange } from '../../../api/safety.ts'
import { tell } from '../../api-client.ts'
import { plural } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { ConfigChange } from '../../ui/config-change.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { DiffLegend } from '../../ui/diff.tsx'
import { Failed, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Change, isOfServer, titleOf, type Verdicts } from './change.tsx'
import { Coverage } from './coverage.tsx'
import { Findings } from './findings.tsx'
import { CallRecord } from './record.tsx'
import { bySuspect, byWorst, type Suspect, subjectOf, suspectOf } from './suspects.ts'

/** What changed since it was approved, what looks suspicious, and what the lock covers. */
export function Safety() {
  const loaded = useApi(
    'safety',
    {},
    {
      after: ['tool-quarantined', 'tool-released', 'server-synced', 'server-state', 'tool-suspicious'],
      everyMs: COMPARE_EVERY_MS,
    },
  )
  const [error, setError] = useState<string>()
  const [note, setNote] = useState('')
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  const decide = async (decision: () => Promise<string>) => {
    try {
      setNote(await decision())
      setError(undefined)
    } catch (failure) {
      setError((failure as Error).message)
    }
    loaded.reload()
  }
  const verdicts: Verdicts = {
    approve: (patterns) =>
      void decide(async () => {
        const { approved } = await tell('approve', { patterns })
        return approved === 0
          ? 'It has changed again; please review it once more.'
          : `Approved ${plural(approved, 'change')}.`
      }),
    reject: (change) =>
      void decide(async () => {
        await tell('reject', { patterns: [change.pattern], isRejected: true })
        return `Rejected ${titleOf(change)}. It stays held back.`
      }),
    edit: setEdit,
  }
  const takeBack = (patterns: readonly string[]) =>
    decide(async () => {
      await tell('reject', { patterns, isRejected: false })
      return ''
    })
  return (
    <>
      <Head title="Safety">
        A tool, prompt or resource whose definition is not the one you approved is held back: no model sees,
        finds or uses it until you decide.
      </Head>
      <Show of={loaded}>
        {({ changes, isLocked, canApprove, findings, coverage, lockPath, warnings, lockCommand }) => {
          const suspects = bySuspect(findings)
          const given = canApprove ? verdicts : undefined
          const open = changes.filter(({ settled }) => settled === undefined)
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
                  changes={open.filter((change) => !isOfServer(change))}
                  suspects={suspects}
                  verdicts={given}
                  asleep={coverage.filter(({ isAsleep }) => isAsleep).length}
                  settled={changes.length - open.length}
                  note={note}
                />
              )}
              <ServerChanges changes={open.filter(isOfServer)} verdicts={given} />
              <Settled changes={changes} onTakeBack={takeBack} />
              <div class="columns">
                <Findings findings={findings} />
                <Coverage coverage={coverage} lockPath={isLocked ? lockPath : null} />
              </div>
              <CallRecord />
            </div>
          )
        }}
      </Show>
      {edit && <ConfigChange edit={edit} onClose={() => setEdit(undefined)} onWritten={loaded.reload} />}
    </>
  )
}

/** The gateway compares lists again when it is asked, since other processes may have seen a change. */
const COMPARE_EVERY_MS = 10_000

/** Tools that differ from their approval: the user compares and decides here. */
function ToolChanges({
  changes,
  suspects,
  verdicts,
  asleep,
  settled,
  note,
}: {
  readonly changes: readonly NamedChange[]
  readonly suspects: readonly Suspect[]
  readonly verdicts: Verdicts | undefined
  /** How many servers have not started yet: their lists are those that some process saw last. */
  readonly asleep: number
  /** How many changes were rejected or hidden. */
  readonly settled: number
  readonly note: string
}) {
  // What the scanner warns of is decided one by one.
  const harmless = changes.filter((change) => suspectOf(suspects, subjectOf(change)) === undefined)
  const isAll = harmless.length === changes.length
  return (
    <Card
      title={<Counted title="Changed definitions" count={changes.length} />}
      aside={
        verdicts &&
        harmless.length > 1 && (
          <button
            type="button"
            class="button"
            onClick={() => verdicts.approve(harmless.map(({ pattern }) => pattern))}
          >
            {isAll
              ? `Approve all ${harmless.length} as shown`
              : `Approve the ${harmless.length} without a warning`}
          </button>
        )
      }
    >
      <p class="small status" role="status">
        {note}
      </p>
      {changes.length === 0 ? (
        <p class="muted">
          {settled > 0
            ? 'Nothing waits for you. What you rejected or hid is listed below.'
            : 'No change is known.'}
          {asleep > 0 &&
            ` ${plural(asleep, 'server')} ${asleep === 1 ? 'is' : 'are'} asleep: compared is the list that was seen last, and the next one as soon as it starts.`}
        </p>
      ) : (
        <DiffLegend />
      )}
      <ul class="list">
        {changes
          .map((change) => ({ change, suspect: suspectOf(suspects, subjectOf(change)) }))
          .sort(
            (first, second) =>
              byConcern(first.change, second.change) || byWorst(first.suspect, second.suspect),
          )
          .map(({ change, suspect }) => (
            <Change key={change.pattern} change={change} suspect={suspect} verdicts={verdicts} />
          ))}
      </ul>
    </Card>
  )
}

/** What a person rejected or hid: it is held back, and nobody is asked again. */
function Settled({
  changes,
  onTakeBack,
}: {
  readonly changes: readonly NamedChange[]
  readonly onTakeBack: (patterns: readonly string[]) => void
}) {
  const rejected = changes.filter(({ settled }) => settled === 'rejected')
  const hidden = changes.filter(({ settled }) => settled === 'hidden')
  if (rejected.length + hidden.length === 0) return null
  return (
    <Card title="Rejected and hidden">
      <ul class="list">
        {rejected.map((change) => (
          <li key={change.pattern} class="row spread">
            <span class="wrap roomy">
              <b class="tool-name">{titleOf(change)}</b>{' '}
              <span class="small muted">
                held back. The definition that you approved stays in the lockfile: once the server lists it
                again, it is used again.
              </span>
            </span>
            <button
              type="button"
              class="button small"
              aria-label={`Decide again about ${titleOf(change)}`}
              onClick={() => onTakeBack([change.pattern])}
            >
              Decide again
            </button>
          </li>
        ))}
        {hidden.map((change) => (
          <li key={change.pattern}>
            <b class="tool-name">{titleOf(change)}</b>{' '}
            <span class="small muted">
              hidden by <code>deny</code> in your config. <a href={linkTo('tools')}>Tools</a> shows it again.
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Servers that were not approved, or would run something else: they can be approved only in a terminal. */
function ServerChanges({
  changes,
  verdicts,
}: {
  readonly changes: readonly NamedChange[]
  readonly verdicts: Verdicts | undefined
}) {
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
            <Change key={change.pattern} change={change} suspect={undefined} verdicts={verdicts} />
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

const CONCERN: readonly string[] = ['command-changed', '-changed', 'server-added', '-added']

/** What was approved once and has changed comes first. */
function byConcern(first: NamedChange, second: NamedChange): number {
  const rank = ({ kind }: NamedChange) => {
    const at = CONCERN.findIndex((how) => kind.endsWith(how))
    return at < 0 ? CONCERN.length : at
  }
  return rank(first) - rank(second)
}
