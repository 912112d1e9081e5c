import type { Decision } from '../../../api/waiting.ts'
import { sentence } from '../../format.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Icon } from '../../ui/icon.tsx'

const TONES: Readonly<Record<Decision['kind'], Tone>> = {
  quarantine: 'warn',
  server: 'bad',
  finding: 'bad',
  miss: 'info',
  lock: 'plain',
}

/** What needs the user's decision, each with the step that settles it. */
export function Decisions({ decisions }: { readonly decisions: readonly Decision[] }) {
  return (
    <Card
      title="Waiting for you"
      aside={decisions.length > 0 && <Badge tone="warn">{decisions.length}</Badge>}
    >
      {decisions.length === 0 ? (
        <p class="muted">Nothing. Every server runs as approved.</p>
      ) : (
        <ul class="list">
          {decisions.map(({ kind, title, step, command, to }) => (
            <li key={`${kind} ${title}`}>
              <a class="decision" href={to}>
                <i class={`dot ${TONES[kind]}`} />
                <b class="wrap">{title}</b>
                <Icon name="next" />
              </a>
              <div class="under-dot">
                <p class={`small muted wrap ${kind === 'lock' ? '' : 'clamp'}`}>{sentence(step)}</p>
                {command !== undefined && <Copyable text={command} />}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
