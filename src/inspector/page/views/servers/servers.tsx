import { useState } from 'preact/hooks'
import { plural } from '../../format.ts'
import { Card, Head } from '../../ui/card.tsx'
import { PutBack } from '../../ui/put-back.tsx'
import { Empty, Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { AddServer } from './add-server.tsx'
import { ServerCard } from './server-card.tsx'

/** Every server: how it is doing, what it costs, and what mends it. */
export function Servers({ rest }: { readonly rest: string }) {
  const loaded = useApi('servers', {}, { after: ['server-state', 'server-synced', 'server-warning'] })
  const [isAdding, setAdding] = useState(false)
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
            <div class="columns even">
              {[...servers]
                .sort(
                  (first, second) =>
                    rankOf(first, rest) - rankOf(second, rest) || second.tokens - first.tokens,
                )
                .map((server) => (
                  <ServerCard
                    key={server.server}
                    server={server}
                    canChange={canChange}
                    isOpen={server.server === rest}
                    onChanged={loaded.reload}
                  />
                ))}
            </div>
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

/** The one that was asked for comes first, then those with a problem. */
function rankOf(
  { server, state }: { readonly server: string; readonly state: string },
  asked: string,
): number {
  if (server === asked) return 0
  return state === 'failed' ? 1 : 2
}
