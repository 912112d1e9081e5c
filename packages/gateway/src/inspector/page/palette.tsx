import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { isPaletteOpen } from './keys.ts'
import { linkTo } from './router.ts'
import { ToolName } from './ui/badge.tsx'
import { closeTools } from './ui/close-tools.ts'
import { Dialog } from './ui/dialog.tsx'
import { useApi } from './use-api.ts'
import { VIEWS } from './views.ts'

/** Somewhere to go. */
interface Place {
  readonly kind: 'view' | 'server' | 'tool'
  readonly name: string
  readonly to: string
}

const SHOWN = 12

/** Goes to a tool, a server or a view by part of its name: the arrow keys choose, Enter goes. */
export function Palette() {
  const tools = useApi('tools')
  const servers = useApi('servers')
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  useEffect(() => field.current?.focus(), [])
  const isComplete = [tools, servers].every(({ data, error }) => data !== undefined || error !== undefined)
  const places = useMemo(() => {
    // A place that arrived later could take the first row just as Enter is pressed.
    if (!isComplete) return []
    const all: Place[] = [
      ...VIEWS.map(({ path, title }): Place => ({ kind: 'view', name: title, to: linkTo(path) })),
      ...(servers.data?.servers ?? []).map(
        ({ server }): Place => ({ kind: 'server', name: server, to: linkTo('servers', server) }),
      ),
      ...(tools.data ?? []).map(({ name }): Place => ({ kind: 'tool', name, to: linkTo('tools', name) })),
    ]
    return closeTools(all, text).slice(0, SHOWN)
  }, [isComplete, tools.data, servers.data, text])
  const chosen = Math.min(at, places.length - 1)
  const close = () => {
    isPaletteOpen.value = false
  }
  const open = (place: Place | undefined) => {
    if (!place) return
    close()
    location.hash = place.to
  }
  const press = (event: KeyboardEvent) => {
    if (event.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((chosen + step + places.length) % Math.max(1, places.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(places[chosen])
    }
  }
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        ref={field}
        class="field large"
        role="combobox"
        aria-label="A tool, a server or a view"
        aria-autocomplete="list"
        aria-expanded={places.length > 0}
        aria-controls={id}
        aria-activedescendant={places.length > 0 ? `${id}-${chosen}` : undefined}
        autocomplete="off"
        placeholder="A tool, a server or a view"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <div id={id} role="listbox" aria-label="Places" class="places">
        {places.map((place, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keyboard, and says which option is chosen.
          <div
            key={`${place.kind} ${place.name}`}
            id={`${id}-${index}`}
            class="suggestion place"
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            onClick={() => open(place)}
          >
            <span class="truncate">
              <ToolName name={place.name} />
            </span>
            <span class="small muted">{place.kind}</span>
          </div>
        ))}
      </div>
      {places.length === 0 && (
        <p class="muted">{isComplete ? `Nothing has “${text}” in its name.` : 'Loading…'}</p>
      )}
    </Dialog>
  )
}
