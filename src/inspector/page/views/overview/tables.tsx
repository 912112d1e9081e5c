import { short, toolCalls, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { ServerState } from '../../ui/badge.tsx'
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
            <th>State</th>
            <th class="number">Tools</th>
            <th class="number">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, LISTED).map(({ server, state, tools, tokens }) => (
            <tr key={server}>
              <td class="wrap">
                <a href={linkTo('servers', server)}>{server}</a>
              </td>
              <td>
                <ServerState state={state} />
              </td>
              <td class="number">{whole(tools)}</td>
              <td class="number">{whole(tokens)}</td>
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
        <table class="plain-links">
          <thead>
            <tr>
              <th>Client</th>
              <th class="number">Sessions</th>
              <th class="number">Turns</th>
              <th class="number">Searches</th>
              <th class="number">Calls</th>
              <th class="number">Errors</th>
              <th class="number">Saved</th>
            </tr>
          </thead>
          <tbody>
            {clients
              .slice(0, 8)
              .map(({ id, isNamed, latest, sessions, turns, searches, calls, errors, saved }) => (
                <tr key={`${id} ${isNamed}`}>
                  <td class="client">
                    {latest === null ? (
                      <ClientName id={id} isNamed={isNamed} />
                    ) : (
                      <a href={linkTo('sessions', latest)}>
                        <ClientName id={id} isNamed={isNamed} />
                      </a>
                    )}
                  </td>
                  <td class="number">{whole(sessions)}</td>
                  <td class="number">{whole(turns)}</td>
                  <td class="number">{whole(searches)}</td>
                  <td class="number">{whole(toolCalls({ calls, searches }))}</td>
                  <td class="number">{whole(errors)}</td>
                  <td class="number">{short(saved)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

function ClientName({ id, isNamed }: { readonly id: string; readonly isNamed: boolean }) {
  return isNamed ? <span>{id}</span> : <code>{id}</code>
}
