import type { Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { FileChange } from '../../ui/file-change.tsx'

/** A planned change of a client's config. */
export interface Plan {
  readonly client: string
  readonly title: string
  readonly kind: 'connect' | 'disconnect'
}

/** Shows the change of a client's config, and makes it when confirmed. */
export function ConnectDialog({
  plan: { client, title, kind },
  onClose,
  onChanged,
}: {
  readonly plan: Plan
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const isConnecting = kind === 'connect'
  return (
    <FileChange
      title={isConnecting ? `Connect ${title}` : `Put ${title} back as it was`}
      action={isConnecting ? 'Connect' : 'Put it back'}
      draft={() => tell('connect-client', { client, kind })}
      apply={(digest) => tell('connect-client', { client, kind, confirmed: true, digest })}
      onClose={onClose}
      onDone={onChanged}
    >
      {(change) => <Effect change={change} kind={kind} />}
    </FileChange>
  )
}

function Effect({
  change: { moved, kept },
  kind,
}: {
  readonly change: Output<'connect-client'>
  readonly kind: Plan['kind']
}) {
  if (kind === 'disconnect')
    return (
      <p>
        The entry of the gateway goes
        {moved.length > 0 && `, and its own servers are restored: ${moved.join(', ')}`}.
      </p>
    )
  return (
    <p>
      One entry for the gateway{moved.length > 0 && `, in place of ${moved.join(', ')}`}
      {kept.length > 0 && `. Servers that the gateway does not have stay: ${kept.join(', ')}`}. The old file
      is kept, and “Undo” puts it back.
    </p>
  )
}
