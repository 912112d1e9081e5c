import type { Output } from '../../../api/routes.ts'
import { about, money, toolCalls, whole } from '../../format.ts'
import { costOf } from '../../prices.ts'
import { linkTo } from '../../router.ts'
import { ServerDot } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'

const LISTED = 8

/** The servers at a glance, the most expensive first. */
export function ServerTable({ data: { servers } }: { readonly data: Output<'overview'> }) {
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
export function ClientTable({ data: { clients } }: { readonly data: Output<'overview'> }) {
  return (
    <Card title="By client" aside={<a href={linkTo('sessions')}>Sessions</a>}>
      <p class="small muted below-head">
        Assumed: without Toolcrib, a client sends every tool that it may use in every turn: so many tokens a
        turn.
        {clients.some(({ isNamed, id }) => isNamed && SEARCHES_ITSELF.test(id)) &&
          ' Claude Code, and any other client that searches tools itself, would send less: there, this is the most it can be.'}
      </p>
      <div class="scroll-x">
        <table class="plain-links dense">
          <thead>
            <tr>
              <th>Client</th>
              <th class="number" title="Tokens of tools, in one turn without Toolcrib">
                Would send
              </th>
              <th class="number spare">Turns</th>
              <th class="number">Saved</th>
              <th class="number">In money</th>
              <th class="number spare">Searches</th>
              <th class="number">Calls</th>
              <th class="number spare">Failed</th>
            </tr>
          </thead>
          <tbody>
            {clients.slice(0, LISTED).map((client) => (
              <tr key={`${client.id} ${client.isNamed}`}>
                <td class="client">
                  <ClientName client={client} />
                </td>
                <td class="number">{wouldSend(client)}</td>
                <td class="number spare">{whole(client.turns)}</td>
                <td class="number">{about(client.saved)}</td>
                <td class="number">{client.saved === 0 ? '$0' : `~${money(costOf(client.saved))}`}</td>
                <td class="number spare">{whole(client.searches)}</td>
                <td class="number">{whole(toolCalls(client))}</td>
                <td class="number spare">{whole(client.errors)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

/** Clients that search their tools themselves, by the names that they give. */
const SEARCHES_ITSELF = /^claude[- ]?code/i

/** A client without turns is no client of a model. */
function wouldSend({ shown, saved, turns }: Output<'overview'>['clients'][number]): string {
  return turns === 0 ? '–' : about((shown + saved) / turns)
}

/** Links to its latest session while that is remembered. */
function ClientName({
  client: { id, isNamed, latest },
}: {
  readonly client: Output<'overview'>['clients'][number]
}) {
  const name = isNamed ? <span>{id}</span> : <code>{id}</code>
  return latest === null ? name : <a href={linkTo('sessions', latest)}>{name}</a>
}
