import { ago } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { useApi } from '../../use-api.ts'

/** The latest recorded calls; nothing if calls are not recorded. */
export function CallRecord() {
  const { data } = useApi('audit', {}, { after: ['call-finished'] })
  if (!data?.calls) return null
  return (
    <Card title="Recorded calls">
      {data.calls.length === 0 && <p class="muted">None yet.</p>}
      <div class="scroll-x">
        <table class="plain-links dense">
          <thead>
            <tr>
              <th>When</th>
              <th>Client</th>
              <th>Tool</th>
              <th>Decision</th>
              <th>Outcome</th>
            </tr>
          </thead>
          <tbody>
            {data.calls.map(({ at, who, client, tool, decision, by, outcome }) => (
              <tr key={at + tool}>
                <td class="small muted">{ago(Date.parse(at))}</td>
                <td>{client ?? who}</td>
                <td>
                  <a href={linkTo('tools', tool)}>{tool}</a>
                </td>
                <td class="small">{decision === 'allow' ? '' : `${decision}, ${by}`}</td>
                <td>
                  <Badge
                    tone={
                      outcome === 'ok' ? 'good' : ['started', 'task'].includes(outcome) ? 'plain' : 'warn'
                    }
                  >
                    {outcome}
                  </Badge>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
