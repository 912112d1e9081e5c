import type { Input } from '../../api/routes.ts'
import { tell } from '../api-client.ts'
import { FileChange } from './file-change.tsx'

/** Shows a change of the config, and writes it when confirmed. */
export function ConfigChange({
  edit,
  onClose,
  onWritten,
}: {
  readonly edit: Partial<Input<'change-config'>>
  readonly onClose: () => void
  readonly onWritten: () => void
}) {
  return (
    <FileChange
      title="Change your config"
      action="Write and apply"
      draft={() => tell('change-config', edit)}
      apply={(digest) => tell('change-config', { ...edit, confirmed: true, digest })}
      onClose={onClose}
      onDone={onWritten}
    />
  )
}
