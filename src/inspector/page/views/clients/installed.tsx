import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { ConnectDialog, type Plan } from './connect-dialog.tsx'

type Client = Output<'clients'>['installed'][number]

/** The clients on this machine: each can be connected and restored. */
export function Installed({
  clients,
  onChanged,
}: {
  readonly clients: readonly Client[]
  readonly onChanged: () => void
}) {
  const [plan, setPlan] = useState<Plan>()
  const there = clients.filter(({ isThere }) => isThere)
  const absent = clients.filter(({ isThere }) => !isThere)
  return (
    <Card title="On this machine">
      {there.length === 0 && <p class="muted">No known client was found.</p>}
      <ul class="list">
        {there.map(({ client, title, path, isConnected, servers, problem }) => (
          <li key={client} class="row spread">
            <span class="wrap">
              <b>{title}</b> {isConnected && <Badge tone="good">connected</Badge>}
              <div class="small muted wrap">
                <code>{path}</code> · {problem ?? ownServers(servers.length)}
              </div>
            </span>
            {problem === undefined && (
              <button
                type="button"
                class="button"
                aria-label={`${isConnected ? 'Undo' : 'Connect'} ${title}`}
                onClick={() => setPlan({ client, title, kind: isConnected ? 'disconnect' : 'connect' })}
              >
                {isConnected ? 'Undo' : 'Connect'}
              </button>
            )}
          </li>
        ))}
      </ul>
      {absent.length > 0 && (
        <p class="small muted absent">Not found: {absent.map(({ title }) => title).join(', ')}.</p>
      )}
      {plan && <ConnectDialog plan={plan} onClose={() => setPlan(undefined)} onChanged={onChanged} />}
    </Card>
  )
}

function ownServers(count: number): string {
  return count === 0 ? 'no servers of its own' : `${plural(count, 'server')} of its own`
}
