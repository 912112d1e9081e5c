import { useEffect, useState } from 'preact/hooks'
import type { Input } from '../../api/routes.ts'
import type { ConfigDraft } from '../../config/editable-config.ts'
import { tell } from '../api-client.ts'
import { Dialog } from './dialog.tsx'
import { DiffLines } from './diff.tsx'
import { Failed, Loading } from './state.tsx'

/** Shows what a change makes of the config file, and writes it when asked to. */
export function ConfigChange({
  edit,
  onClose,
  onWritten,
}: {
  readonly edit: Partial<Input<'change-config'>>
  readonly onClose: () => void
  readonly onWritten: () => void
}) {
  const [draft, setDraft] = useState<ConfigDraft>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    tell('change-config', edit).then(setDraft, (failure: Error) => setError(failure.message))
  }, [edit])
  const write = async () => {
    try {
      await tell('change-config', { ...edit, confirmed: true, digest: draft?.digest ?? '' })
      onClose()
      onWritten()
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <Dialog title="Change your config" onClose={onClose}>
      {error !== undefined && <Failed error={error} />}
      {!draft && error === undefined && <Loading />}
      {draft && (
        <>
          <p class="muted wrap">
            <code>{draft.path}</code>
          </p>
          <DiffLines lines={draft.diff} />
          <div class="row">
            <button type="button" class="button primary" onClick={write}>
              Write and apply
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
