import { about, money, toolCalls, whole } from '../../format.ts'
import { costOf } from '../../prices.ts'
import { linkTo } from '../../router.ts'
import { ServerDot } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import type { OverviewData } from './overview.tsx'

const LISTED = 8

/** The servers at a glance, the most expensive first. */
export function ServerTable({ data: { servers } }: { readonly data: OverviewData }) {
  const sorted = [...servers].sort((first, second) => second.tokens - first.tokens)
  return (
    <Card title="Servers" aside={<a href={linkTo('servers')}>All {whole(servers.length)}</a>}>
      <table class="plain-links">
        <thead>
          <tr>
            <th>Server</th>
            <th class="number">Tools</th>
            <th class="number">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, LISTED).map(({ server, tools, tokens, ...status }) => (
            <tr key={server}>
              <td>
                <span class="dotted">
                  <ServerDot state={status.state} needs={'needs' in status ? status.needs : undefined} />
                  <a href={linkTo('servers', server)}>{server}</a>
                </span>
              </td>
              <td class="number">{tools === 0 ? '–' : whole(tools)}</td>
              <td class="number">{tools === 0 ? '–' : whole(tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}

/** What each client saved, in all its sessions. */
export function ClientTable({ data: { clients } }: { readonly data: OverviewData }) {
  return (
    <Card title="By client" aside={<a href={linkTo('sessions')}>Sessions</a>}>
      <div class="scroll-x">
        <table class="plain-links dense">
          <thead>
            <tr>
              <th>Client</th>
              <th class="number">Saved</th>
              <th class="number">In money</th>
              <th class="number spare">Turns</th>
              <th class="number spare">Searches</th>
              <th class="number">Calls</th>
              <th class="number spare">Errors</th>
              <th class="number spare">Sessions</th>
            </tr>
          </thead>
          <tbody>
            {clients.slice(0, LISTED).map((client) => (
              <tr key={`${client.id} ${client.isNamed}`}>
                <td class="client">
                  <ClientName client={client} />
                </td>
                <td class="number">{about(client.saved)}</td>
                <td class="number">{client.saved === 0 ? '$0' : `~${money(costOf(client.saved))}`}</td>
                <td class="number spare">{whole(client.turns)}</td>
                <td class="number spare">{whole(client.searches)}</td>
                <td class="number">{whole(toolCalls(client))}</td>
                <td class="number spare">{whole(client.errors)}</td>
                <td class="number spare">{whole(client.sessions)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

/** Links to its latest session while that is remembered. */
function ClientName({
  client: { id, isNamed, latest },
}: {
  readonly client: OverviewData['clients'][number]
}) {
  const name = isNamed ? <span>{id}</span> : <code>{id}</code>
  return latest === null ? name : <a href={linkTo('sessions', latest)}>{name}</a>
}
