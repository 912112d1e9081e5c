import type { Decision } from '../../../api/waiting.ts'
import { sentence } from '../../format.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Icon } from '../../ui/icon.tsx'
import { CallDecision } from './call-decision.tsx'

const TONES: Readonly<Record<Decision['kind'], Tone>> = {
  call: 'bad',
  change: 'bad',
  quarantine: 'warn',
  server: 'bad',
  finding: 'bad',
  pattern: 'bad',
  miss: 'info',
  lock: 'plain',
}

/** A call waits for an answer, or what was approved is something else now: no figure is more important. */
export function isUrgent({ kind }: Decision): boolean {
  return kind === 'call' || kind === 'change'
}

/** What needs the user's decision, each with the step that settles it. */
export function Decisions({ decisions }: { readonly decisions: readonly Decision[] }) {
  return (
    <Card
      title="Waiting for you"
      aside={
        decisions.length > 0 && (
          <Badge tone={decisions.some(isUrgent) ? 'bad' : 'warn'}>{decisions.length}</Badge>
        )
      }
    >
      {decisions.length === 0 ? (
        <p class="muted">Nothing.</p>
      ) : (
        <ul class="list">
          {decisions.map(({ kind, title, step, command, to, call }) => (
            <li key={`${kind} ${title} ${call?.id}`}>
              <a class="decision" href={to}>
                <i class={`dot ${TONES[kind]}`} />
                <b class={`wrap ${kind === 'change' ? 'danger' : ''}`}>{title}</b>
                <Icon name="next" />
              </a>
              <div class="under-dot">
                <p class={`small muted wrap ${kind === 'lock' ? '' : 'clamp'}`}>{sentence(step)}</p>
                {command !== undefined && <Copyable text={command} />}
                {call && <CallDecision call={call} />}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
