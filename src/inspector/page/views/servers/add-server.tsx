import { useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import { ConfigChange } from '../../ui/config-change.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Tabs } from '../../ui/tabs.tsx'

/**
 * Adds a server by its address. One that is a program is added on the command line: nothing on this page can decide
 * what runs on the machine.
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
        <div>
          <label for="server-name">Name</label>
          <input
            id="server-name"
            class="field"
            placeholder="github"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </div>
        {isUrl ? (
          <>
            <div>
              <label for="server-url">Address</label>
              <input
                id="server-url"
                class="field"
                type="url"
                placeholder="https://example.com/mcp"
                value={url}
                onInput={({ currentTarget }) => setUrl(currentTarget.value)}
              />
            </div>
            <div>
              <button type="submit" class="button primary" disabled={name.trim() === '' || url.trim() === ''}>
                Show the change
              </button>
            </div>
          </>
        ) : (
          <>
            <div>
              <label for="server-command">Command</label>
              <input
                id="server-command"
                class="field"
                placeholder="npx -y @modelcontextprotocol/server-memory"
                value={command}
                onInput={({ currentTarget }) => setCommand(currentTarget.value)}
              />
            </div>
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
