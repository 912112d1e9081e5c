import type { Output } from '../../../api/routes.ts'
import { whole } from '../../format.ts'
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
      {coverage.length === 0 ? (
        <p class="muted">No server yet.</p>
      ) : (
        <table class="plain-links dense">
          <thead>
            <tr>
              <th>Server</th>
              <th>Lock</th>
              <th class="number">Approved</th>
              <th class="number">Listed</th>
            </tr>
          </thead>
          <tbody>
            {coverage.map(({ server, state, approved, listed, isToolsOnly }) => (
              <tr key={server}>
                <td>
                  <a href={linkTo('servers', server)}>{server}</a>
                </td>
                <td>
                  {state === 'missing' ? (
                    <Badge tone="warn">not approved</Badge>
                  ) : isToolsOnly ? (
                    <span
                      class="small muted"
                      title="Approved before lockfiles covered instructions, prompts and resources; toolcrib lock covers them"
                    >
                      tools only
                    </span>
                  ) : (
                    <span class="small muted">{state === 'open' ? 'not locked' : 'locked'}</span>
                  )}
                </td>
                <td class="number">{state === 'locked' ? whole(approved) : '–'}</td>
                <td class="number">{listed === null ? '–' : whole(listed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}
