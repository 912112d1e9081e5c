import { useState } from 'preact/hooks'
import type { Input } from '../../api/routes.ts'
import { Card } from './card.tsx'
import { ConfigChange } from './config-change.tsx'

type Edit = Partial<Input<'change-config'>>

/** What the config hides or disables, each with a button that restores it. */
export function PutBack({
  title,
  entries,
  onChanged,
}: {
  readonly title: string
  readonly entries: readonly { readonly label: string; readonly edit: Edit }[]
  readonly onChanged: () => void
}) {
  const [edit, setEdit] = useState<Edit>()
  if (entries.length === 0) return null
  return (
    <Card title={title}>
      <ul class="row">
        {entries.map((entry) => (
          <li key={entry.label}>
            <button type="button" class="button" onClick={() => setEdit(entry.edit)}>
              {entry.label}
            </button>
          </li>
        ))}
      </ul>
      {edit && <ConfigChange edit={edit} onClose={() => setEdit(undefined)} onWritten={onChanged} />}
    </Card>
  )
}
