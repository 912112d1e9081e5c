import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { FileChange } from '../../ui/file-change.tsx'

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

/** A planned change of a client's config. */
interface Plan {
  readonly client: string
  readonly title: string
  readonly kind: 'connect' | 'disconnect'
}

/** Shows the change of a client's config, and makes it when confirmed. */
function ConnectDialog({
  plan: { client, title, kind },
  onClose,
  onChanged,
}: {
  readonly plan: Plan
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const isConnecting = kind === 'connect'
  return (
    <FileChange
      title={isConnecting ? `Connect ${title}` : `Put ${title} back as it was`}
      action={isConnecting ? 'Connect' : 'Put it back'}
      draft={() => tell('connect-client', { client, kind })}
      apply={(digest) => tell('connect-client', { client, kind, confirmed: true, digest })}
      onClose={onClose}
      onDone={onChanged}
    >
      {(change) => <Effect change={change} kind={kind} />}
    </FileChange>
  )
}

function Effect({
  change: { moved, kept },
  kind,
}: {
  readonly change: Output<'connect-client'>
  readonly kind: Plan['kind']
}) {
  if (kind === 'disconnect')
    return (
      <p>
        The entry of the gateway goes
        {moved.length > 0 && `, and its own servers are restored: ${moved.join(', ')}`}.
      </p>
    )
  return (
    <p>
      One entry for the gateway{moved.length > 0 && `, in place of ${moved.join(', ')}`}
      {kept.length > 0 && `. Servers that the gateway does not have stay: ${kept.join(', ')}`}. The old file
      is kept, and “Undo” puts it back.
    </p>
  )
}
