import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { useApi, useChanged } from '../use-api.ts'
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
  const { data: tools } = useApi('tools')
  const [text, setText] = useState(value)
  const id = useId()
  /** Whether Enter was pressed; the tools may arrive later. */
  const [isAsked, setAsked] = useState(false)
  const close = useMemo(() => closeTools(tools ?? [], text).slice(0, SUGGESTIONS), [tools, text])
  useChanged(value, setText)
  const isTool = tools?.some(({ name }) => name === text)
  const picked = isTool ? text : isAsked ? close[0]?.name : undefined
  useEffect(() => {
    if (picked === undefined) return
    setAsked(false)
    setText(picked)
    if (picked !== value) onPick(picked)
  }, [picked])
  const isMissing = isAsked && tools !== undefined && close.length === 0
  return (
    <>
      <input
        class="field"
        list={id}
        aria-label={label}
        placeholder="A tool: type a part of its name"
        value={text}
        onInput={({ currentTarget }) => {
          setAsked(false)
          setText(currentTarget.value)
        }}
        onKeyDown={({ key, isComposing }) => {
          if (key === 'Enter' && !isComposing && text.trim() !== '') setAsked(true)
        }}
      />
      <datalist id={id}>
        {close.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p class="small muted wrap status" role="status">
        {isMissing && noteFor(text, nearestNames(tools, text))}
      </p>
    </>
  )
}

function noteFor(text: string, nearest: readonly string[]): string {
  const hint =
    nearest.length === 0 ? 'The view “Tools” lists all of them.' : `Nearest: ${nearest.join(', ')}.`
  return `No tool has “${text}” in its name. ${hint}`
}
