import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import type { ListedTool } from '../../api/tools.ts'
import { whole } from '../format.ts'
import { useApi, useChanged } from '../use-api.ts'
import { ToolName } from './badge.tsx'
import { closeTools, nearestNames } from './close-tools.ts'

const SUGGESTIONS = 8

/** Finds one tool among many by part of its name: the arrow keys choose, Enter opens the chosen or the best one. */
export function ToolPicker({
  label,
  onPick,
  value = '',
  isWaiting = false,
}: {
  readonly label: string
  readonly onPick: (name: string) => void
  readonly value?: string
  /** Takes the focus at once, because the user has just opened it. */
  readonly isWaiting?: boolean
}) {
  const { data: tools } = useApi('tools')
  const [text, setText] = useState(value)
  const [isOpen, setOpen] = useState(false)
  /** The suggestion that the arrow keys selected; -1 for none. */
  const [at, setAt] = useState(-1)
  /** Whether Enter was pressed; the tools may arrive later. */
  const [isAsked, setAsked] = useState(false)
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isWaiting) field.current?.focus()
  }, [])
  useChanged(value, setText)
  const isTool = tools?.some(({ name }) => name === text) === true
  // A complete name matches only itself; a user who opens the list then wants another.
  const wanted = isTool ? '' : text
  const close = useMemo(() => closeTools(tools ?? [], wanted).slice(0, SUGGESTIONS), [tools, wanted])
  const picked = isTool ? text : isAsked ? close[0]?.name : undefined
  const pick = (name: string) => {
    setAsked(false)
    setOpen(false)
    setAt(-1)
    setText(name)
    if (name !== value) onPick(name)
  }
  useEffect(() => {
    if (picked !== undefined) pick(picked)
  }, [picked])
  const isMissing = isAsked && tools !== undefined && close.length === 0
  const isListed = isOpen && close.length > 0
  const press = (event: KeyboardEvent) => {
    if (event.isComposing) return
    if (event.key === 'Escape' && isOpen) {
      // The dialog around it stays open.
      event.stopPropagation()
      event.preventDefault()
      setOpen(false)
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setOpen(true)
      const step = event.key === 'ArrowDown' ? 1 : -1
      setAt(isOpen ? (at + step + close.length) % Math.max(1, close.length) : 0)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      const chosen = isListed ? close[at] : undefined
      if (chosen) pick(chosen.name)
      else if (text.trim() !== '') setAsked(true)
    }
  }
  return (
    <div class="picker">
      <input
        ref={field}
        class="field"
        role="combobox"
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded={isListed}
        aria-controls={isListed ? id : undefined}
        aria-activedescendant={isListed && at >= 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        placeholder="A tool: type part of its name"
        value={text}
        onFocus={({ currentTarget }) => {
          currentTarget.select()
          setOpen(true)
        }}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={({ currentTarget }) => {
          setAsked(false)
          setOpen(true)
          setAt(-1)
          setText(currentTarget.value)
        }}
        onKeyDown={press}
      />
      {isListed && (
        <div class="suggestions" id={id} role="listbox" aria-label="Tools">
          {close.map((tool, index) => (
            <Suggestion
              key={tool.name}
              id={`${id}-${index}`}
              tool={tool}
              isChosen={index === at}
              onPick={() => pick(tool.name)}
            />
          ))}
        </div>
      )}
      <p class="small muted wrap status" role="status">
        {isMissing && noteFor(text, nearestNames(tools, text))}
      </p>
    </div>
  )
}

function Suggestion({
  id,
  tool: { name, summary, tokens },
  isChosen,
  onPick,
}: {
  readonly id: string
  readonly tool: ListedTool
  readonly isChosen: boolean
  readonly onPick: () => void
}) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keyboard, and says which option is chosen.
    <div
      class="suggestion"
      id={id}
      role="option"
      aria-selected={isChosen}
      tabIndex={-1}
      // The field keeps the focus, or the list would be gone before the click arrives.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPick}
    >
      <span class="truncate">
        <ToolName name={name} />
      </span>
      <span class="small muted tabular">{whole(tokens)}</span>
      <span class="small muted truncate">{summary}</span>
    </div>
  )
}

function noteFor(text: string, nearest: readonly string[]): string {
  const hint =
    nearest.length === 0 ? 'The view “Tools” lists all of them.' : `Nearest: ${nearest.join(', ')}.`
  return `No tool has “${text}” in its name. ${hint}`
}
