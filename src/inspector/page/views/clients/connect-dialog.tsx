import { useEffect, useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { DiffLines } from '../../ui/diff.tsx'
import { Failed, Loading } from '../../ui/state.tsx'

/** What is about to be done to a client's config. */
export interface Plan {
  readonly client: string
  readonly title: string
  readonly kind: 'connect' | 'disconnect'
}

/** Shows the change of a client's config, and makes it when asked to. */
export function ConnectDialog({
  plan: { client, title, kind },
  onClose,
  onChanged,
}: {
  readonly plan: Plan
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [change, setChange] = useState<Output<'connect-client'>>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    tell('connect-client', { client, kind }).then(setChange, (failure: Error) => setError(failure.message))
  }, [client, kind])
  const apply = async () => {
    try {
      await tell('connect-client', { client, kind, confirmed: true, digest: change?.digest ?? '' })
      onClose()
      onChanged()
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <Dialog title={kind === 'connect' ? `Connect ${title}` : `Put ${title} back as it was`} onClose={onClose}>
      {error !== undefined && <Failed error={error} />}
      {!change && error === undefined && <Loading />}
      {change && (
        <>
          <p class="muted wrap">
            <code>{change.path}</code>
          </p>
          <Effect change={change} kind={kind} />
          <DiffLines lines={change.diff} />
          <div class="row">
            <button type="button" class="button primary" onClick={apply}>
              {kind === 'connect' ? 'Connect' : 'Put it back'}
            </button>
            <button type="button" class="button" onClick={onClose}>
              Leave it
            </button>
          </div>
        </>
      )}
    </Dialog>
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
        {moved.length > 0 && `, and its own servers come back: ${moved.join(', ')}`}.
      </p>
    )
  return (
    <p>
      One entry for the gateway{moved.length > 0 && `, in place of ${moved.join(', ')}`}
      {kept.length > 0 && `. What the gateway does not have stays: ${kept.join(', ')}`}. The old file is kept,
      and “Undo” puts it back.
    </p>
  )
}
