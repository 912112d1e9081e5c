import { duration } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Empty } from '../../ui/state.tsx'
import { ResultView } from './result-view.tsx'
import type { Call } from './use-call.ts'

/** The call under way, or its result. */
export function CallPanel({ call: { isRunning, outcome, progress, error } }: { readonly call: Call }) {
  return (
    <Card
      title="Result"
      aside={
        outcome && (
          <span class="row small muted">
            {outcome.isDry && <Badge tone="info">dry run</Badge>}
            <Badge tone={outcome.outcome.result.ok ? 'good' : 'bad'}>
              {outcome.outcome.result.ok ? 'ok' : outcome.outcome.result.code}
            </Badge>
            {duration(outcome.outcome.durationMs)}
          </span>
        )
      }
    >
      <div aria-live="polite">
        {isRunning && <Progress progress={progress} />}
        {error !== undefined && <div class="note bad">{error}</div>}
        {outcome && <ResultView key={outcome.at} outcome={outcome.outcome} />}
        {!isRunning && !outcome && error === undefined && (
          <Empty title="Not called yet">A dry run checks the arguments and runs nothing.</Empty>
        )}
      </div>
    </Card>
  )
}

function Progress({ progress }: { readonly progress: Call['progress'] }) {
  const { progress: done = 0, total, message } = progress ?? {}
  const share = total === undefined || total === 0 ? undefined : Math.min(100, (100 * done) / total)
  return (
    <div class="stack">
      <div class="progress" role="progressbar" aria-label="Progress of the call" aria-valuenow={share}>
        <i style={{ width: `${share ?? 12}%` }} />
      </div>
      <span class="small muted">
        Running … {progress && `${done}${total === undefined ? '' : ` of ${total}`}`} {message}
      </span>
    </div>
  )
}
