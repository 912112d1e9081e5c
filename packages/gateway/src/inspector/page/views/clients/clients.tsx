import type { Output } from '../../../api/routes.ts'
import { ago, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { isSignedIn } from '../../signed-in.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { Installed } from './installed.tsx'

/** No event reports that a client has left. */
const REFRESH_MS = 10_000

/** The clients of the gateway, those that could be connected, and how to do so. */
export function Clients() {
  const loaded = useApi(
    'clients',
    {},
    { after: ['session-opened', 'call-finished', 'surfaced'], everyMs: REFRESH_MS },
  )
  return (
    <>
      <Head title="Clients">Editors, assistants and agents that reach your tools through this gateway.</Head>
      <Show of={loaded}>
        {({ connected, earlier, installed, canConnect, command }) => (
          <div class="stack">
            <Card title="Connected now">
              {connected.length === 0 ? (
                <p class="muted">
                  None. Connect one below, or point it at this gateway; it appears here with its first
                  request.
                </p>
              ) : (
                <Connected clients={connected} />
              )}
            </Card>
            {earlier.length > 0 && (
              <Card title="Seen earlier">
                <div class="stack">
                  <p class="muted">No connection, and no request for a minute.</p>
                  <Connected clients={earlier} />
                </div>
              </Card>
            )}
            {canConnect && <Installed clients={installed} onChanged={loaded.reload} />}
            <ByHand command={command} />
          </div>
        )}
      </Show>
    </>
  )
}

function ByHand({ command }: { readonly command: string }) {
  return (
    <Card title="By hand">
      <div class="stack">
        <p>
          A client that reaches servers by their address takes this one
          {isSignedIn.value && (
            <>
              , with the token as <code>Authorization: Bearer …</code>
            </>
          )}
          :
        </p>
        <Copyable text={`${location.origin}/mcp`} />
        <p>One that starts its servers runs this instead; it joins this gateway:</p>
        <Copyable text={command} />
      </div>
    </Card>
  )
}

/** The clients that use the gateway, with what they did. */
function Connected({ clients }: { readonly clients: Output<'clients'>['connected'] }) {
  return (
    <div class="scroll-x">
      <table class="one-line">
        <thead>
          <tr>
            <th>Client</th>
            <th class="spare">Token</th>
            <th class="spare">Profile</th>
            <th class="spare">Protocol</th>
            <th class="number spare">Requests</th>
            <th class="number">Calls</th>
            <th class="number">Failed</th>
            <th>Last seen</th>
          </tr>
        </thead>
        <tbody>
          {clients.map((client) => (
            <tr key={client.id}>
              <td>
                <a href={linkTo('sessions', client.session)}>{client.name ?? 'unnamed'}</a>{' '}
                <span class="small muted">{client.version}</span>
              </td>
              <td class="spare">{client.token}</td>
              <td class="spare">{client.profile ?? '–'}</td>
              <td class="spare">
                <Badge>{client.era === 'legacy' ? 'older' : client.era}</Badge>{' '}
                <Badge>{client.transport}</Badge>
              </td>
              <td class="number spare">{whole(client.requests)}</td>
              <td class="number">{whole(client.calls)}</td>
              <td class="number">{whole(client.failedCalls)}</td>
              <td>{ago(client.lastSeenAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
