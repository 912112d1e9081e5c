import { clock, duration } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { type PastCall, pastCalls } from './use-call.ts'

/** Earlier calls of this tool in this tab, each with its result and a button that fills in its arguments again. */
export function CallHistory({
  name,
  shown,
  onShow,
  onAgain,
}: {
  readonly name: string
  /** The call whose result is shown. */
  readonly shown: PastCall | undefined
  readonly onShow: (past: PastCall) => void
  readonly onAgain: (args: unknown) => void
}) {
  const own = pastCalls.value.filter((past) => past.name === name)
  if (own.length === 0) return null
  return (
    <Card title="Earlier calls">
      <ul class="list">
        {own.slice(0, 10).map((past) => (
          <li key={past.at}>
            <PastLine past={past} isShown={past === shown} onShow={onShow} onAgain={onAgain} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

function PastLine({
  past,
  isShown,
  onShow,
  onAgain,
}: {
  readonly past: PastCall
  readonly isShown: boolean
  readonly onShow: (past: PastCall) => void
  readonly onAgain: (args: unknown) => void
}) {
  const { at, args, isDry, outcome } = past
  return (
    <div class="row spread">
      <span class="truncate">
        <Badge tone={outcome.result.ok ? 'good' : 'bad'}>
          {outcome.result.ok ? 'ok' : outcome.result.code}
        </Badge>{' '}
        <code>{JSON.stringify(args)?.slice(0, 80)}</code>
      </span>
      <span class="row small muted">
        {isDry ? 'dry run' : duration(outcome.durationMs)} · {clock(at)}
        <button type="button" class="button small" aria-pressed={isShown} onClick={() => onShow(past)}>
          Result
        </button>
        <button type="button" class="button small" onClick={() => onAgain(args)}>
          Fill in
        </button>
      </span>
    </div>
  )
}
