import { clock, duration } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { pastCalls } from './use-call.ts'

/** Earlier calls of this tool in this tab; each can be filled in again. */
export function CallHistory({
  name,
  onAgain,
}: {
  readonly name: string
  readonly onAgain: (args: unknown) => void
}) {
  const own = pastCalls.value.filter((past) => past.name === name)
  if (own.length === 0) return null
  return (
    <Card title="Earlier calls">
      <ul class="list">
        {own.slice(0, 10).map(({ at, args, isDry, outcome }) => (
          <li key={at} class="row spread">
            <span class="truncate">
              <Badge tone={outcome.result.ok ? 'good' : 'bad'}>
                {outcome.result.ok ? 'ok' : outcome.result.code}
              </Badge>{' '}
              <code>{JSON.stringify(args)?.slice(0, 80)}</code>
            </span>
            <span class="row small muted">
              {isDry ? 'dry run' : duration(outcome.durationMs)} · {clock(at)}
              <button type="button" class="button" onClick={() => onAgain(args)}>
                Fill in
              </button>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
