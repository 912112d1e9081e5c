import type { Output } from '../../../api/routes.ts'
import { ago, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/badge.tsx'

/** The clients that use the gateway, with what they did. */
export function Connected({ clients }: { readonly clients: Output<'clients'>['connected'] }) {
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
                <Badge>{client.era}</Badge> <Badge>{client.transport}</Badge>
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
