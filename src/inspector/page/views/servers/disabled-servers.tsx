import { useState } from 'preact/hooks'
import { Card } from '../../ui/card.tsx'
import { ConfigChange } from '../../ui/config-change.tsx'

/** Servers that the config has and does not use. */
export function DisabledServers({
  names,
  onChanged,
}: {
  readonly names: readonly string[]
  readonly onChanged: () => void
}) {
  const [server, setServer] = useState<string>()
  if (names.length === 0) return null
  return (
    <Card title="Disabled">
      <ul class="row">
        {names.map((name) => (
          <li key={name}>
            <button type="button" class="button" onClick={() => setServer(name)}>
              Enable {name}
            </button>
          </li>
        ))}
      </ul>
      {server !== undefined && (
        <Enabling server={server} onClose={() => setServer(undefined)} onChanged={onChanged} />
      )}
    </Card>
  )
}

function Enabling({
  server,
  onClose,
  onChanged,
}: {
  readonly server: string
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [edit] = useState({ kind: 'enable', server } as const)
  return <ConfigChange edit={edit} onClose={onClose} onWritten={onChanged} />
}
