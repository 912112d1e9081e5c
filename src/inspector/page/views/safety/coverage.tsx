import type { Output } from '../../../api/routes.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'

/** What the lockfiles approve, server by server. */
export function Coverage({
  coverage,
  lockPath,
}: {
  readonly coverage: Output<'safety'>['coverage']
  readonly lockPath: string | null
}) {
  return (
    <Card title="What the lock covers">
      {lockPath !== null && (
        <p class="small muted wrap lock-path">
          <code>{lockPath}</code>
        </p>
      )}
      <div class="scroll-x">
        <table class="plain-links">
          <thead>
            <tr>
              <th>Server</th>
              <th>Lock</th>
              <th class="number">Approved</th>
              <th class="number">Listed</th>
            </tr>
          </thead>
          <tbody>
            {coverage.map(({ server, state, approved, listed }) => (
              <tr key={server}>
                <td>
                  <a href={linkTo('servers', server)}>{server}</a>
                </td>
                <td>
                  <Badge tone={state === 'locked' ? 'good' : state === 'missing' ? 'bad' : 'plain'}>
                    {state === 'open' ? 'not locked' : state === 'missing' ? 'not approved' : 'locked'}
                  </Badge>
                </td>
                <td class="number">{approved}</td>
                <td class="number">{listed ?? '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
