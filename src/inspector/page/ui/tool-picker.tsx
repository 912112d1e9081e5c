import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { useApi } from '../use-api.ts'
import { closeTools, nearestNames } from './close-tools.ts'

const SUGGESTIONS = 30

/** Finds one tool among many by a part of its name: Enter opens the best match. */
export function ToolPicker({
  label,
  onPick,
  value = '',
}: {
  readonly label: string
  readonly onPick: (name: string) => void
  readonly value?: string
}) {
  const { data: tools = [] } = useApi('tools')
  const [text, setText] = useState(value)
  const id = useId()
  const [note, setNote] = useState('')
  const close = useMemo(() => closeTools(tools, text).slice(0, SUGGESTIONS), [tools, text])
  useEffect(() => setText(value), [value])
  const isTool = tools.some(({ name }) => name === text)
  useEffect(() => {
    if (isTool && text !== value) onPick(text)
  }, [isTool, text])
  const open = () => {
    const [best] = close
    if (text.trim() === '' || best?.name === value) return
    if (best) onPick(best.name)
    else setNote(noteFor(text, nearestNames(tools, text)))
  }
  return (
    <>
      <input
        class="field"
        list={id}
        aria-label={label}
        placeholder="A part of its name"
        value={text}
        onInput={({ currentTarget }) => {
          setNote('')
          setText(currentTarget.value)
        }}
        onKeyDown={({ key, isComposing }) => {
          if (key === 'Enter' && !isComposing) open()
        }}
      />
      <datalist id={id}>
        {close.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p class="small muted wrap" role="status">
        {note}
      </p>
    </>
  )
}

function noteFor(text: string, nearest: readonly string[]): string {
  const hint =
    nearest.length === 0 ? 'The view “Tools” lists all of them.' : `Nearest: ${nearest.join(', ')}.`
  return `No tool has “${text}” in its name. ${hint}`
}
