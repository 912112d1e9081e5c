import { useRef, useState } from 'preact/hooks'
import { plural } from '../../format.ts'
import { note, place } from '../../router.ts'
import { Card, Head } from '../../ui/card.tsx'
import { PutBack } from '../../ui/put-back.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useApi } from '../../use-api.ts'
import { AddServer } from './add-server.tsx'
import { ServerCard, type ServerData } from './server-card.tsx'
import { ServerTable } from './server-table.tsx'

/** Every server: its state, its cost, and how to fix its problems. */
export function Servers({ rest }: { readonly rest: string }) {
  const loaded = useApi('servers', {}, { after: ['server-state', 'server-synced', 'server-warning'] })
  const [isAdding, setAdding] = useState(false)
  const inOrder = useOrder(rest)
  const isTable = rest === '' && place.value.query.as === 'table'
  return (
    <>
      <Head
        title="Servers"
        actions={
          loaded.data?.canChange && (
            <button type="button" class="button primary" onClick={() => setAdding(true)}>
              Add a server
            </button>
          )
        }
      >
        Where your tools come from. One that is asleep starts with its first call.
      </Head>
      <Show of={loaded}>
        {({ servers, canChange, disabled, files }) => (
          <div class="stack">
            {servers.length === 0 && (
              <Card>
                <Empty title="No servers">
                  Add one, or run “toolcrib import” to take those of your editor.
                </Empty>
              </Card>
            )}
            {servers.length > 0 && (
              <Tabs
                label="How servers are shown"
                names={LAYOUTS}
                chosen={isTable ? 'Table' : 'Cards'}
                onChoose={(name) => note('servers', '', { as: name === 'Table' ? 'table' : '' })}
              />
            )}
            {isTable && servers.length > 0 ? (
              <ServerTable servers={inOrder(servers)} canChange={canChange} onChanged={loaded.reload} />
            ) : (
              <div class="columns even">
                {inOrder(servers).map((server) => (
                  <ServerCard
                    key={server.server}
                    server={server}
                    canChange={canChange}
                    isOpen={server.server === rest}
                    onChanged={loaded.reload}
                  />
                ))}
              </div>
            )}
            <PutBack
              title="Disabled"
              entries={disabled.map((server) => ({
                label: `Enable ${server}`,
                edit: { kind: 'enable', server },
              }))}
              onChanged={loaded.reload}
            />
            {files.length > 0 && (
              <p class="small muted wrap">
                {plural(servers.length, 'server')} of {files.join(', ')}
              </p>
            )}
          </div>
        )}
      </Show>
      {isAdding && loaded.data && (
        <AddServer
          command={loaded.data.addCommand}
          onClose={() => setAdding(false)}
          onAdded={loaded.reload}
        />
      )}
    </>
  )
}

const LAYOUTS = ['Cards', 'Table']

/**
 * Sorts servers: the requested one, then those with a problem, then the most expensive ones. Each keeps its place
 * afterwards: a card must not move while the user signs in or restarts it.
 */
function useOrder(asked: string): (servers: readonly ServerData[]) => readonly ServerData[] {
  const kept = useRef({ asked, places: [] as readonly string[] })
  if (kept.current.asked !== asked) kept.current = { asked, places: [] }
  return (servers) => {
    const { places } = kept.current
    const rankOf = ({ server, state }: ServerData) => (server === asked ? 0 : state === 'failed' ? 1 : 2)
    const sorted = [...servers].sort(
      (first, second) => rankOf(first) - rankOf(second) || second.tokens - first.tokens,
    )
    const added = sorted.map(({ server }) => server).filter((server) => !places.includes(server))
    const all = [...places, ...added]
    kept.current = { asked, places: all }
    const placeOf = ({ server }: ServerData) => all.indexOf(server)
    return sorted.sort((first, second) => placeOf(first) - placeOf(second))
  }
}
