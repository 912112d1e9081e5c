import { ago, whole } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Head } from '../../ui/card.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'

/** Who uses the gateway, and how to connect one more. */
export function Clients() {
  const loaded = useApi('clients', {}, { after: ['session-opened', 'call-finished', 'surfaced'] })
  return (
    <>
      <Head title="Clients">Editors, assistants and agents that reach your tools through this gateway.</Head>
      <Show of={loaded}>
        {({ connected }) => (
          <div class="stack">
            <Card title="Connected">
              {connected.length === 0 ? (
                <Empty title="No client is connected">
                  Point one at this gateway; it appears here with its first request.
                </Empty>
              ) : (
                <div class="scroll-x">
                  <table>
                    <thead>
                      <tr>
                        <th>Client</th>
                        <th>Token</th>
                        <th>Profile</th>
                        <th>Protocol</th>
                        <th class="number">Requests</th>
                        <th class="number">Calls</th>
                        <th class="number">Failed</th>
                        <th>Last seen</th>
                      </tr>
                    </thead>
                    <tbody>
                      {connected.map((client) => (
                        <tr key={client.id}>
                          <td>
                            {client.name ?? 'unnamed'} <span class="small muted">{client.version}</span>
                          </td>
                          <td>{client.token}</td>
                          <td>{client.profile ?? '–'}</td>
                          <td>
                            <Badge>{client.era}</Badge> <Badge>{client.transport}</Badge>
                          </td>
                          <td class="number">{whole(client.requests)}</td>
                          <td class="number">{whole(client.calls)}</td>
                          <td class="number">{whole(client.failedCalls)}</td>
                          <td>{ago(client.lastSeenAt)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
            </Card>
            <HowTo />
          </div>
        )}
      </Show>
    </>
  )
}

function HowTo() {
  const url = `${location.origin}/mcp`
  return (
    <Card title="Connect one more">
      <div class="stack">
        <p>
          Give the client this address, and the token as <code>Authorization: Bearer …</code>
        </p>
        <pre class="log">{url}</pre>
        <p>A client that starts its servers runs this instead; it joins this gateway:</p>
        <pre class="log">toolcrib serve --stdio</pre>
      </div>
    </Card>
  )
}
