import { useId, useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import { ConfigChange } from '../../ui/config-change.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Tabs } from '../../ui/tabs.tsx'

/**
 * Adds a server by its address. A stdio server is added on the command line: nothing on this page can decide what runs
 * on the machine.
 */
export function AddServer({
  command: add,
  onClose,
  onAdded,
}: {
  /** Adds a program to the config of this gateway, in a terminal. */
  readonly command: string
  readonly onClose: () => void
  readonly onAdded: () => void
}) {
  const [kind, setKind] = useState('By its address')
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const [command, setCommand] = useState('')
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  if (edit) return <ConfigChange edit={edit} onClose={onClose} onWritten={onAdded} />
  const isUrl = kind === 'By its address'
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <Tabs names={['By its address', 'A program']} chosen={kind} label="Kind of server" onChoose={setKind} />
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          setEdit({ kind: 'add', server: name.trim(), url: url.trim() })
        }}
      >
        <TextField label="Name" placeholder="github" value={name} onChange={setName} />
        {isUrl ? (
          <>
            <TextField
              label="Address"
              isUrl
              placeholder="https://example.com/mcp"
              value={url}
              onChange={setUrl}
            />
            <div>
              <button
                type="submit"
                class="button primary"
                disabled={name.trim() === '' || !URL.canParse(url.trim())}
              >
                Show the change
              </button>
            </div>
          </>
        ) : (
          <>
            <TextField
              label="Command"
              placeholder="npx -y @modelcontextprotocol/server-memory"
              value={command}
              onChange={setCommand}
            />
            <p class="small muted">
              A web page must not decide what runs on your machine. Run this in a terminal; the gateway picks
              it up by itself:
            </p>
            <Copyable text={`${add} ${name.trim() || 'NAME'} -- ${command.trim() || 'COMMAND'}`} />
          </>
        )}
      </form>
    </Dialog>
  )
}

function TextField({
  label,
  isUrl = false,
  placeholder,
  value,
  onChange,
}: {
  readonly label: string
  readonly isUrl?: boolean
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const id = useId()
  return (
    <div>
      <label for={id}>{label}</label>
      <input
        id={id}
        class="field"
        inputMode={isUrl ? 'url' : 'text'}
        placeholder={placeholder}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </div>
  )
}
