import type { Decision } from '../../../api/overview.ts'
import { sentence } from '../../format.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copyable.tsx'

const TONES: Readonly<Record<Decision['kind'], Tone>> = {
  quarantine: 'bad',
  server: 'bad',
  finding: 'warn',
  miss: 'info',
  lock: 'plain',
}

/** What waits for a person, each with the step that settles it. */
export function Decisions({ decisions }: { readonly decisions: readonly Decision[] }) {
  return (
    <Card
      title="Waiting for you"
      aside={decisions.length > 0 && <Badge tone="accent">{decisions.length}</Badge>}
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
