import { useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { duration, plural, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { ServerState } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { ConfigChange } from '../../ui/config-change.tsx'
import type { ServerData } from './server-card.tsx'

/** All servers with their whole commands, line by line, and what can be done with several at once. */
export function ServerTable({
  servers,
  canChange,
  onChanged,
}: {
  readonly servers: readonly ServerData[]
  readonly canChange: boolean
  readonly onChanged: () => void
}) {
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const [note, setNote] = useState('')
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  const chosen = servers.filter(({ server }) => marked.has(server))
  const startable = chosen.filter((server) => !('needs' in server && server.needs === 'approval'))
  const mark = (server: string, isMarked: boolean) => {
    const next = new Set(marked)
    if (isMarked) next.add(server)
    else next.delete(server)
    setMarked(next)
  }
  /** One after the other: many starts at once are slower for each. */
  const restart = async () => {
    let ready = 0
    for (const [at, { server }] of startable.entries()) {
      setNote(`Starting ${server}, ${at + 1} of ${startable.length} …`)
      const status = await tell('restart-server', { server }).catch(() => null)
      if (status?.state === 'ready') ready++
    }
    setNote(`${ready} of ${plural(startable.length, 'server')} ${ready === 1 ? 'is' : 'are'} ready.`)
    onChanged()
  }
  const [first, ...others] = chosen.map(({ server }) => server)
  return (
    <Card label="All servers">
      {canChange && (
        <div class="row">
          <button type="button" class="button small" disabled={startable.length === 0} onClick={restart}>
            Start or restart
          </button>
          <button
            type="button"
            class="button small"
            disabled={first === undefined}
            onClick={() => first !== undefined && setEdit({ kind: 'disable', server: first, others })}
          >
            Stop and disable
          </button>
          <span class="small muted" role="status">
            {note !== '' ? note : chosen.length === 0 ? 'Mark servers first.' : `${chosen.length} marked`}
          </span>
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard. */}
      <section class="scroll-x below" tabIndex={0} aria-label="Servers with their commands">
        <table class="plain-links dense">
          <thead>
            <tr>
              {canChange && (
                <th>
                  <input
                    type="checkbox"
                    aria-label="Mark all servers"
                    checked={chosen.length === servers.length}
                    onChange={({ currentTarget }) =>
                      setMarked(new Set(currentTarget.checked ? servers.map(({ server }) => server) : []))
                    }
                  />
                </th>
              )}
              <th>Server</th>
              <th>State</th>
              <th>Command</th>
              <th class="number">Tools</th>
              <th class="number">Tokens</th>
              <th class="number">Start</th>
            </tr>
          </thead>
          <tbody>
            {servers.map(({ server, state, runs, tools, tokens, startMs, ...more }) => (
              <tr key={server}>
                {canChange && (
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Mark ${server}`}
                      checked={marked.has(server)}
                      onChange={({ currentTarget }) => mark(server, currentTarget.checked)}
                    />
                  </td>
                )}
                <td>
                  <a href={linkTo('servers', server)}>{server}</a>
                </td>
                <td>
                  <ServerState state={state} needs={'needs' in more ? more.needs : undefined} />
                </td>
                <td class="command">
                  <code>{runs ?? '–'}</code>
                </td>
                <td class="number">{tools === 0 ? '–' : whole(tools)}</td>
                <td class="number">{tools === 0 ? '–' : whole(tokens)}</td>
                <td class="number">{startMs === undefined ? '–' : duration(startMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {edit && (
        <ConfigChange
          edit={edit}
          onClose={() => setEdit(undefined)}
          onWritten={() => {
            setMarked(new Set())
            onChanged()
          }}
        />
      )}
    </Card>
  )
}
