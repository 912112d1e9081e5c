import { useState } from 'preact/hooks'
import type { Input, Output } from '../../../api/routes.ts'
import { go } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { ConfigChange } from '../../ui/config-change.tsx'
import { HintForm } from './hint-form.tsx'

type Edit = Partial<Input<'change-config'>>

/** Pin a tool, hide it, or give it a search hint: each change is shown as a diff of the config before it is written. */
export function ToolSettings({
  tool,
  onChanged,
}: {
  readonly tool: Output<'tool'>
  readonly onChanged: () => void
}) {
  const [edit, setEdit] = useState<Edit>()
  const { setting, source: server, ownName } = tool
  if (setting === null) return null
  // A tool that is hidden has no page.
  const written = () => (edit?.kind === 'hide' ? go('tools') : onChanged())
  const change = (kind: NonNullable<Edit['kind']>) => setEdit({ kind, server, tool: ownName })
  return (
    <Card title="Your settings">
      <div class="stack">
        <div class="row">
          <button type="button" class="button" onClick={() => change(setting.isPinned ? 'unpin' : 'pin')}>
            {setting.isPinned ? 'Unpin' : 'Pin'}
          </button>
          <button type="button" class="button" onClick={() => change('hide')}>
            Hide
          </button>
        </div>
        <HintForm
          key={setting.hint}
          hint={setting.hint}
          onSave={(hint) => setEdit({ kind: 'hint', server, tool: ownName, hint })}
        />
        <p class="small muted">
          Pinned: always shown, never deferred. Hidden: no model sees, finds or calls it; Tools lists it and
          can show it again. Hint: words that searches match too. You see the change of your config before it
          is written.
        </p>
      </div>
      {edit && <ConfigChange edit={edit} onClose={() => setEdit(undefined)} onWritten={written} />}
    </Card>
  )
}
