import { useId, useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import { ConfigChange } from '../../ui/config-change.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { readSnippet, registryName } from './read-snippet.ts'

/** Changes the address of a server, or a header. What it had is not shown: both may be secrets. */
export function ChangeServer({
  server,
  address,
  onClose,
  onChanged,
}: {
  readonly server: string
  readonly address: string
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [url, setUrl] = useState('')
  const [header, setHeader] = useState('')
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  if (edit) return <ConfigChange edit={edit} onClose={onClose} onWritten={onChanged} />
  return (
    <Dialog title={`Change ${server}`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          setEdit({ kind: 'change', server, url: url.trim(), header })
        }}
      >
        <TextField label="New address" isUrl placeholder={address} value={url} onChange={setUrl} />
        <TextField label="Header" placeholder={HEADER} value={header} onChange={setHeader} />
        <p class="small muted">What you leave empty stays as it is.</p>
        <div>
          <button
            type="submit"
            class="button primary"
            disabled={!isAddress(url) && (url.trim() !== '' || header.trim() === '')}
          >
            Show the change
          </button>
        </div>
      </form>
    </Dialog>
  )
}

const HEADER = 'Authorization: Bearer …'

function isAddress(text: string): boolean {
  return URL.canParse(text.trim())
}

/**
 * Adds a server by its address, or by what its README says. A stdio server is added on the command line: nothing on this page can decide what runs
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
  const [header, setHeader] = useState('')
  const [command, setCommand] = useState('')
  const [env, setEnv] = useState('')
  /** Its name in a registry of servers. */
  const [registered, setRegistered] = useState<string>()
  /** A README shows servers as JSON. */
  const fill = (text: string, set: (text: string) => void) => {
    const listed = registryName(text)
    if (listed !== undefined) {
      setRegistered(listed)
      return setKind('A program')
    }
    const found = readSnippet(text)
    if (!found) return set(text)
    setName(found.name)
    setUrl(found.url)
    setHeader(found.header)
    setCommand(found.command)
    setEnv(found.env)
    setKind(found.url === '' ? 'A program' : 'By its address')
  }
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  if (edit) return <ConfigChange edit={edit} onClose={onClose} onWritten={onAdded} />
  const isUrl = kind === 'By its address'
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <Tabs names={['By its address', 'A program']} chosen={kind} label="Kind of server" onChoose={setKind} />
      <p class="small muted">
        Or paste the JSON of a README into the field, or the name of a server in a registry.
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          setEdit({ kind: 'add', server: name.trim(), url: url.trim(), header })
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
              onChange={(text) => fill(text, setUrl)}
            />
            <TextField
              label="Header, if it needs one"
              placeholder={HEADER}
              value={header}
              onChange={setHeader}
            />
            <div>
              <button type="submit" class="button primary" disabled={name.trim() === '' || !isAddress(url)}>
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
              onChange={(text) => {
                setRegistered(undefined)
                fill(text, setCommand)
              }}
            />
            <p class="small muted">
              A web page must not decide what runs on your machine. Run this in a terminal; the gateway picks
              it up by itself:
            </p>
            <Copyable
              text={
                registered === undefined
                  ? `${add} ${name.trim() || 'NAME'} ${env}-- ${command.trim() || 'COMMAND'}`
                  : `${add} ${registered}`
              }
            />
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
